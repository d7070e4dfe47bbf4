import { toWireJson } from "../../responses/wire.ts";
import { protocolText } from "../events/protocol-event.ts";
import { type Output, socketLimits } from "./output.ts";
import type { ProtocolAnswer, RecordPart } from "./thread-record.ts";

/** How far one subscription of a socket has come. */
export interface Place {
  /** Everything up to this sequence number was sent, and more comes. */
  passed(seq: number): void;
  /** Everything that there is was sent, or no longer. */
  waits(waits: boolean): void;
  /** Everything before the end of a run was sent. Resolves when that holds for the other subscriptions, too. */
  atEnd(seq: number): Promise<void>;
  close(): void;
}

interface Position {
  seq: number;
  waits: boolean;
}

/**
 * The places of a socket's subscriptions. A client takes an event that any of them sends as one for all, and the end of a
 * run as the end of what the run tells: it is sent after what the others have to tell of that run. The one that is
 * furthest back never waits.
 */
export class SocketPlaces {
  readonly #open = new Set<Position>();
  #moved = Promise.withResolvers<void>();

  /** The place of a new subscription, which does not wait any more once the signal is aborted. */
  open(signal: AbortSignal): Place {
    const position: Position = { seq: -1, waits: false };
    this.#open.add(position);
    const passed = (seq: number): void => {
      position.seq = Math.max(position.seq, seq);
      this.#wake();
    };
    signal.addEventListener("abort", () => this.#wake());
    return {
      passed,
      waits: (waits) => {
        position.waits = waits;
        this.#wake();
      },
      atEnd: async (seq) => {
        passed(seq);
        while (!signal.aborted && this.#isAwaited(seq)) await this.#moved.promise;
      },
      close: () => {
        this.#open.delete(position);
        this.#wake();
      },
    };
  }

  /** Whether a subscription may still send what comes before `end`. */
  #isAwaited(end: number): boolean {
    return this.#open.values().some(({ seq, waits }) => !waits && seq < end);
  }

  #wake(): void {
    this.#moved.resolve();
    this.#moved = Promise.withResolvers<void>();
  }
}

/** An event to send; `end`: it is the end of a run. */
interface Outgoing {
  text: string;
  end: number | undefined;
}

/**
 * Sends the replay after the answer that counts it, then live events. Of a long past only the beginning is counted: all
 * of it would be in memory at once.
 */
export async function deliver(
  record: AsyncIterable<RecordPart>,
  { output, place, answer }: { output: Output; place: Place; answer: (replayed: number) => ProtocolAnswer },
): Promise<void> {
  let past: Outgoing[] | undefined = [];
  let [characters, reached] = [0, -1];
  const send = async ({ text, end }: Outgoing): Promise<void> => {
    if (end !== undefined) await place.atEnd(end);
    await output.sendInTurn(text);
  };
  const sendPast = async (events: Outgoing[]): Promise<void> => {
    output.answer(toWireJson(answer(events.length)));
    for (const event of events) await send(event);
  };
  try {
    for await (const part of record) {
      if (part === "waits" || part === "goes on") {
        place.waits(part === "waits");
        continue;
      }
      const { events, until, end } = part === "caught up" ? nothing : part;
      for (const event of events) {
        const outgoing = { text: protocolText(event), end: event.seq === end ? end : undefined };
        if (past === undefined) {
          await send(outgoing);
          continue;
        }
        past.push(outgoing);
        characters += outgoing.text.length;
        if (past.length < socketLimits.counted.events && characters < socketLimits.counted.characters) continue;
        await sendPast(past);
        past = undefined;
      }
      if (part === "caught up" && past !== undefined) {
        await sendPast(past);
        past = undefined;
      }
      reached = until ?? reached;
      if (past === undefined) place.passed(reached);
    }
  } finally {
    place.close();
  }
}

const nothing = { events: [], until: undefined, end: undefined };
