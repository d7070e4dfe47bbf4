import { randomUUID } from "node:crypto";
import type { WebSocket } from "ws";
import { z } from "zod";
import { excessOf, maximumDepth, maxKeys, parseJson } from "../../validate.ts";
import type { HttpServices } from "../../environment.ts";
import { toWireJson } from "../../responses/wire.ts";
import { type CommandSource, handleCommand, ProtocolCommand, withParams } from "./commands.ts";
import { EventFilter, isChannel } from "../events/protocol-event.ts";
import { deliver, SocketPlaces } from "./deliver.ts";
import { createOutput, type Output, socketLimits } from "./output.ts";
import {
  type CommandOutcome,
  metaOf,
  type ProtocolAnswer,
  readRecord,
  type Refusal,
  toRefusal,
} from "./thread-record.ts";

/** The server stops, or the thread was deleted: a returning client finds out which. */
const goingAway = 1001;

const Unsubscribe = z.looseObject({ subscription_id: z.string() });

/**
 * One socket of the protocol: commands in, answers and events out. Each subscription follows the thread's record
 * separately; the answer to a subscribe precedes the events it replays, and a run's end follows all that the run told to
 * any of them.
 */
export function serveSocket(services: HttpServices, source: CommandSource, socket: WebSocket): void {
  const output = createOutput(socket);
  const subscriptions = createSubscriptions(services, source, socket, output);
  let underWay = 0;

  const take = async (text: string): Promise<ProtocolAnswer | undefined> => {
    const command = readCommand(text);
    if (typeof command === "string") return { type: "error", id: null, error: "invalid_argument", message: command };
    const { id } = command;
    const meta = metaOf(source.threadId);
    if (underWay > socketLimits.commands) return { type: "error", id, ...tooMany, meta };
    let outcome: CommandOutcome | "answered";
    switch (command.method) {
      case "subscription.subscribe":
        outcome = await withParams(command, EventFilter, (filter) => subscriptions.add(id, filter));
        break;
      case "subscription.unsubscribe":
        outcome = await withParams(command, Unsubscribe, (params) => subscriptions.remove(params.subscription_id));
        break;
      default:
        return handleCommand(services, source, command);
    }
    if (outcome === "answered") return undefined;
    return "result" in outcome
      ? { type: "success", id, result: outcome.result, meta }
      : { type: "error", id, ...outcome, meta };
  };

  socket.on("message", (data, isBinary) => {
    const text = isBinary || !Buffer.isBuffer(data) ? "" : data.toString("utf8");
    underWay += 1;
    take(text)
      .then(
        (answer) => answer && output.answer(toWireJson(answer)),
        (error: unknown) =>
          output.answer(toWireJson({ type: "error", id: null, ...toRefusal(error, services.logger) })),
      )
      .finally(() => {
        underWay -= 1;
      });
  });
  const stopPings = keepAlive(socket);
  socket.on("close", () => {
    stopPings();
    subscriptions.close();
  });
  socket.on("error", () => socket.terminate());
}

const tooMany: Refusal = {
  error: "unknown_error",
  message: `At most ${socketLimits.commands} commands are done at the same time. Send it again when others are answered.`,
};
const tooManySubscriptions: Refusal = {
  error: "invalid_argument",
  message: `A socket has at most ${socketLimits.subscriptions} subscriptions. Unsubscribe from one first.`,
};

/** The subscriptions of one socket. */
interface Subscriptions {
  /** Sends its own answer, before the replay. */
  add(id: number, filter: EventFilter): CommandOutcome | "answered";
  remove(subscriptionId: string): CommandOutcome;
  close(): void;
}

function createSubscriptions(
  services: HttpServices,
  { threadId }: CommandSource,
  socket: WebSocket,
  output: Output,
): Subscriptions {
  const open = new Map<string, AbortController>();
  const places = new SocketPlaces();
  return {
    add(id, filter) {
      const unknown = filter.channels.find((name) => !isChannel(name));
      if (unknown !== undefined) return { error: "invalid_argument", message: `There is no channel "${unknown}".` };
      if (open.size >= socketLimits.subscriptions) return tooManySubscriptions;
      const subscription_id = randomUUID();
      const ends = new AbortController();
      open.set(subscription_id, ends);
      const answer = (replayed_events: number): ProtocolAnswer => {
        return { type: "success", id, result: { subscription_id, replayed_events }, meta: metaOf(threadId) };
      };
      const place = places.open(ends.signal);
      const delivered = deliver(readRecord(services, threadId, filter, ends.signal), { output, place, answer });
      delivered.then(
        () => {
          if (!ends.signal.aborted) socket.close(goingAway, "The thread is not followed any more.");
        },
        (error: unknown) => {
          services.logger.error({ err: error, thread_id: threadId }, "subscription_failed");
          socket.close(1011, "Internal Server Error");
        },
      );
      return "answered";
    },
    remove(subscriptionId) {
      open.get(subscriptionId)?.abort();
      return open.delete(subscriptionId)
        ? { result: {} }
        : { error: "no_such_subscription", message: `Unknown subscription: ${subscriptionId}` };
    },
    close() {
      for (const ends of open.values()) ends.abort();
    },
  };
}

/** A command, or the reason why the text is invalid. */
function readCommand(text: string): ProtocolCommand | string {
  const excess = excessOf(text);
  if (excess === "depth") return `Commands are nested at most ${maximumDepth} levels deep.`;
  if (excess === "keys") return `An object in a command has at most ${maxKeys} keys.`;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return "Protocol commands must be valid JSON.";
  }
  return ProtocolCommand.safeParse(value).data ?? "Protocol commands must include an integer id and string method.";
}

/** Milliseconds between pings. */
const pingMilliseconds = 30_000;
/**
 * After this many unanswered pings the client is dropped: it has read nothing for two minutes. On a slow link pongs are
 * late, because the ping queues behind unread data.
 */
const maxUnanswered = 4;

/** The part of a socket that can be pinged. */
interface PingableSocket extends Pick<WebSocket, "isPaused" | "ping" | "terminate"> {
  on(event: "pong", listener: () => void): unknown;
}

/** Pings the other side periodically; returns a function that stops it. */
export function keepAlive(socket: PingableSocket): () => void {
  let unanswered = 0;
  socket.on("pong", () => {
    unanswered = 0;
  });
  const timer = setInterval(() => {
    // No pong can arrive from a client that must read its answers first.
    if (socket.isPaused) return;
    if (unanswered === maxUnanswered) {
      socket.terminate();
      return;
    }
    unanswered += 1;
    socket.ping();
  }, pingMilliseconds);
  return () => clearInterval(timer);
}
