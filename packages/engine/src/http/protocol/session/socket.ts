import { randomUUID } from "node:crypto";
import type { WebSocket } from "ws";
import { z } from "zod";
import { excessOf, maximumDepth, mostKeys, parseJson } from "../../validate.ts";
import type { HttpServices } from "../../environment.ts";
import { toWireJson } from "../../answers/wire.ts";
import { type CommandSource, handleCommand, ProtocolCommand, withParams } from "./commands.ts";
import { EventFilter, isChannel, type ProtocolEvent, protocolText } from "../events/protocol-event.ts";
import {
  type CommandOutcome,
  metaOf,
  type ProtocolAnswer,
  readRecord,
  type Refusal,
  toRefusal,
} from "./thread-record.ts";

/** What one socket of the protocol may ask of the server at a time. */
export const socketLimits = {
  /** Commands that are being done. One more is refused. */
  commands: 64,
  /** Subscriptions. One more is refused. */
  subscriptions: 100,
  /** Characters of answers that the client has not taken; until it has, no more commands are read. */
  answers: 4 * 1024 * 1024,
  /** Bytes that may wait for a slow reader before its subscriptions wait for it. */
  behind: 1024 * 1024,
  /** What is kept of the past to be counted, whichever comes first. */
  counted: { events: 2000, characters: 1024 * 1024 },
} as const;

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
  const excess = excessOf(text);
  if (excess === "depth") return `Commands are nested at most ${maximumDepth} levels deep.`;
  if (excess === "keys") return `An object in a command has at most ${mostKeys} keys.`;
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

/** A reader that takes nothing for so long is gone; it may come back and subscribe again. */
const stalledMilliseconds = 120_000;

/** What goes out over one socket. */
interface Output {
  /** Sends the answer to a command; while too much of them is not taken, the socket reads no commands. */
  answer(text: string): void;
  /** Sends an event. Resolves when the reader is not far behind; of several callers only one gets ahead of that. */
  sendInTurn(text: string): Promise<void>;
}

/** The part of a socket that is written to. */
export type OutgoingSocket = Pick<
  WebSocket,
  "readyState" | "OPEN" | "bufferedAmount" | "send" | "pause" | "resume" | "terminate"
>;

/** Writes to a socket so that a client that takes nothing costs no more than the limits say. */
export function createOutput(socket: OutgoingSocket): Output {
  const isOpen = (): boolean => socket.readyState === socket.OPEN;
  let unread = 0;
  let stalled: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;

  const taken = (text: string): void => {
    unread -= text.length;
    if (stalled === undefined || unread > socketLimits.answers) return;
    clearTimeout(stalled);
    stalled = undefined;
    socket.resume();
  };
  const drain = async (text: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(() => socket.terminate(), stalledMilliseconds);
    // Called when it has left, or cannot any more.
    socket.send(text, () => resolve());
    await promise;
    clearTimeout(late);
    draining = undefined;
  };

  return {
    answer(text) {
      if (!isOpen()) return;
      unread += text.length;
      socket.send(text, () => taken(text));
      if (stalled !== undefined || unread <= socketLimits.answers) return;
      stalled = setTimeout(() => socket.terminate(), stalledMilliseconds).unref();
      socket.pause();
    },
    async sendInTurn(text) {
      while (draining !== undefined) await draining;
      if (!isOpen()) return;
      if (socket.bufferedAmount <= socketLimits.behind) return socket.send(text);
      draining = drain(text);
      await draining;
    },
  };
}

/** How often the other side is asked. */
const pingMilliseconds = 30_000;
/**
 * One that has left so many questions open is gone: it then has taken nothing for two minutes. On a slow link an answer
 * comes late, because the question stands behind all that is to be read first.
 */
const mostUnanswered = 4;

/** The part of a socket that is asked. */
interface AskedSocket extends Pick<WebSocket, "isPaused" | "ping" | "terminate"> {
  on(event: "pong", listener: () => void): unknown;
}

/** Asks the other side now and then whether it is there; returns what ends that. */
export function keepAlive(socket: AskedSocket): () => void {
  let unanswered = 0;
  socket.on("pong", () => {
    unanswered = 0;
  });
  const timer = setInterval(() => {
    // Nothing is heard of one that has to read its answers first.
    if (socket.isPaused) return;
    if (unanswered === mostUnanswered) {
      socket.terminate();
      return;
    }
    unanswered += 1;
    socket.ping();
  }, pingMilliseconds);
  return () => clearInterval(timer);
}
