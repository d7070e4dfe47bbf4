import { randomUUID } from "node:crypto";
import type { WebSocket } from "ws";
import { z } from "zod";
import { hasLargeObject, maximumDepth, mostKeys, nestedDeeperThan, parseJson } from "../../requests/body.ts";
import type { HttpServices } from "../../environment.ts";
import { toWireJson } from "../../answers/wire.ts";
import { handleCommand, ProtocolCommand, withParams, type CommandSource } from "./commands.ts";
import { EventFilter, isChannel } from "../events/event-filter.ts";
import { keepAlive } from "./keep-alive.ts";
import { metaOf, toRefusal, type CommandOutcome, type ProtocolAnswer, type Refusal } from "./protocol-answer.ts";
import { protocolText, type ProtocolEvent } from "../events/protocol-event.ts";
import { createOutput, type Output } from "./socket-output.ts";
import { socketLimits } from "./socket-limits.ts";
import { readRecord } from "./thread-record.ts";

/** The server stops, or the thread has gone: a client that comes back finds how things are. */
const goingAway = 1001;

const Unsubscribe = z.looseObject({ subscription_id: z.string() });

/**
 * One socket of the protocol: commands in, answers and events out. Each subscription follows the thread's record by
 * itself; the answer to a subscribe comes before the events that it replays.
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

/** What one socket follows. */
interface Subscriptions {
  /** Answers by itself, before what it replays. */
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
      deliver(readRecord(services, threadId, filter, ends.signal), output, answer).then(
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

/** A command, or what is wrong with the text. */
function readCommand(text: string): ProtocolCommand | string {
  if (nestedDeeperThan(text, maximumDepth)) return `Commands are nested at most ${maximumDepth} levels deep.`;
  if (hasLargeObject(text)) return `An object in a command has at most ${mostKeys} keys.`;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return "Protocol commands must be valid JSON.";
  }
  return ProtocolCommand.safeParse(value).data ?? "Protocol commands must include an integer id and string method.";
}

/**
 * Sends what is replayed after the answer that counts it, then what happens. Of a long past only the beginning is
 * counted: all of it would otherwise be in memory at once.
 */
async function deliver(
  record: AsyncIterable<ProtocolEvent[] | "caught up">,
  output: Output,
  answer: (replayed: number) => ProtocolAnswer,
): Promise<void> {
  let past: string[] | undefined = [];
  let characters = 0;
  const tellPast = async (texts: string[]): Promise<void> => {
    output.answer(toWireJson(answer(texts.length)));
    for (const text of texts) await output.sendInTurn(text);
  };
  for await (const part of record) {
    for (const event of part === "caught up" ? [] : part) {
      const text = protocolText(event);
      if (past === undefined) {
        await output.sendInTurn(text);
        continue;
      }
      past.push(text);
      characters += text.length;
      if (past.length < socketLimits.counted.events && characters < socketLimits.counted.characters) continue;
      await tellPast(past);
      past = undefined;
    }
    if (part !== "caught up" || past === undefined) continue;
    await tellPast(past);
    past = undefined;
  }
}
