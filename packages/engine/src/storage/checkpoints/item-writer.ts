import { crc32 } from "node:zlib";
import type { BaseMessage } from "@langchain/core/messages";
import { isBaseMessage } from "../../message-kinds.ts";
import { beginsWith } from "../../message-list.ts";
import { unframe } from "./decode.ts";
import {
  Encoder,
  frame,
  itemReference,
  compactReferences,
  type MessageWriter,
  fingerprintOf,
  type Serialised,
  serialiseMessage,
} from "./encode.ts";
import { forEachStoredItem, storeMessageIds, maxItemsPerRow, type ItemReference, type ThreadItems } from "./items.ts";
import { messageFields, messageKind } from "./messages.ts";
import type { CheckpointRows } from "./rows.ts";
import { append, expand, type Ranges, type StoredList } from "./snapshot.ts";

/** Characters per row of items, about. */
const rowSize = 64 * 1024;
/** Objects of one write that are serialised again to see whether they were changed in place; more are compared shallowly. */
const deepChecks = 64;
/** Elements of a written array whose JSON is shorter stay inside the row of the write. */
const smallElement = 200;
/** From this length on, a list is first tried as one of known messages. */
const longList = 16;

/** How a writer of items treats what it meets. */
export interface WriterOptions {
  /** Which messages that are not stored yet get no item but are written where they stand. */
  inline: "none" | "chunks" | "all";
  /** Whether objects that are stored already are compared with what is stored in depth. */
  verify: boolean;
}

/**
 * Writes values of one thread in one transaction: messages and large list elements become items, each once, and values
 * refer to them. Call `flush` at the end, in the same transaction.
 */
export class ItemWriter implements MessageWriter {
  /** Characters of all list elements met so far: about how much memory their objects take. */
  weight = 0;
  readonly #rows: CheckpointRows;
  readonly #thread: ThreadItems;
  readonly #options: WriterOptions;
  readonly #ancestors: object[] = [];
  #checks = deepChecks;
  readonly #newIds = new Map<number, string>();
  #first = 0;
  #pending: (string | Buffer)[] = [];

  constructor(rows: CheckpointRows, thread: ThreadItems, options: WriterOptions) {
    this.#rows = rows;
    this.#thread = thread;
    this.#options = options;
  }

  /** The row for a value of any shape. */
  encode(value: unknown): string | Buffer {
    const encoder = new Encoder(this, this.#ancestors);
    return frame(JSON.stringify(encoder.toJson(value)), encoder.bytes);
  }

  /** The row for what a task wrote. Large elements of a written array become items, so that a list can refer to them. */
  encodeWrites(writes: readonly (readonly [number, string, unknown])[]): string | Buffer {
    const encoder = new Encoder(this, this.#ancestors);
    const json = writes.map(([index, channel, value]) => [index, channel, this.#writtenValue(value, encoder)]);
    return frame(JSON.stringify(json), encoder.bytes);
  }

  /**
   * The sequences of a list's elements. What stands where `previous` has it costs nothing when it is the same object
   * (or the same value in `live`) and no new bytes when it only looks the same.
   */
  list(elements: readonly unknown[], previous?: StoredList): Ranges {
    if (previous !== undefined && this.isContinuation(elements, previous)) {
      this.weight += previous.weight;
      return this.#added(elements.slice(previous.live?.length), [...previous.ranges]);
    }
    return this.#compared(elements, previous?.ranges ?? [], previous?.live);
  }

  /** Whether the list begins with all that was there before, and nothing of that was stored anew since. */
  isContinuation(elements: readonly unknown[], { live, rewrites }: StoredList): boolean {
    return rewrites === this.#thread.rewrites && live !== undefined && beginsWith(elements, live);
  }

  #added(elements: readonly unknown[], ranges: Ranges): Ranges {
    for (const element of elements) {
      const reference = this.#reference(element);
      const known = reference !== undefined && typeof element === "object" && element !== null;
      append(ranges, known ? this.#known(element, reference) : this.#add(element, this.#serialise(element)));
    }
    return ranges;
  }

  #compared(elements: readonly unknown[], previous: Ranges, live: readonly unknown[] | undefined): Ranges {
    const before = expand(previous);
    const ranges: Ranges = [];
    let stored: Map<number, string | Buffer> | undefined;
    elements.forEach((element, index) => {
      const old = before[index];
      const reference = this.#reference(element);
      if (
        old !== undefined &&
        (reference === undefined ? live !== undefined && live[index] === element : reference.sequence === old)
      ) {
        this.weight += reference?.size ?? 16;
        append(ranges, old);
      } else if (reference !== undefined && typeof element === "object" && element !== null) {
        append(ranges, this.#known(element, reference));
      } else {
        const serialised = this.#serialise(element);
        if (old !== undefined) stored ??= this.#stored(previous);
        const same = old !== undefined && equal(stored?.get(old), serialised.data);
        if (same) this.#remember(element, old, old, serialised);
        append(ranges, same ? old : this.#add(element, serialised));
      }
    });
    return ranges;
  }

  /** Writes the rows of new items, and the ids that stored ones got since. */
  flush(): void {
    if (this.#newIds.size > 0) storeMessageIds(this.#rows, this.#thread, this.#newIds);
    this.#newIds.clear();
    if (this.#pending.length === 0) return;
    for (let from = 0; from < this.#pending.length;) {
      let data = this.#pending[from] ?? "";
      let count = 1;
      while (typeof data === "string" && count < maxItemsPerRow && data.length < rowSize) {
        const next = this.#pending[from + count];
        if (typeof next !== "string") break;
        data += `\n${next}`;
        count += 1;
      }
      this.#rows.insertItems(this.#thread, { first: this.#first + from, count, data, crc: crc32(data) });
      from += count;
    }
    this.#pending = [];
  }

  /** See `MessageWriter`. For the shallow comparison only: a long history is in every `values` event, and is the same but for its end. */
  knownItemRanges(elements: readonly unknown[]): Ranges | undefined {
    if (this.#options.verify || elements.length < longList) return undefined;
    const ranges: Ranges = [];
    let weight = 0;
    for (const element of elements) {
      if (!isBaseMessage(element)) return undefined;
      const reference = this.#thread.references.get(element);
      if (reference === undefined || element.id !== reference.id) return undefined;
      if (element.content !== reference.content) return undefined;
      weight += reference.size;
      append(ranges, reference.sequence);
    }
    this.weight += weight;
    return ranges;
  }

  #reference(value: unknown): ItemReference | undefined {
    return typeof value === "object" && value !== null ? this.#thread.references.get(value) : undefined;
  }

  /** See `MessageWriter`. */
  writeMessage(message: BaseMessage, encoder: Encoder): { sequence: number } | { json: unknown } {
    const reference = this.#reference(message);
    if (reference !== undefined) return { sequence: this.#known(message, reference) };
    const kind = messageKind(message);
    if (kind === undefined) return { json: { $: ["lc", JSON.stringify(message)] } };
    const { inline } = this.#options;
    if (inline === "all" || (inline === "chunks" && kind.endsWith("Chunk"))) {
      const id = message.id ?? undefined;
      const parts = ["M", kind, encoder.object(messageFields(message))];
      return { json: { $: id === undefined ? parts : [...parts, id] } };
    }
    return { sequence: this.#add(message, this.#serialise(message)) };
  }

  #writtenValue(value: unknown, encoder: Encoder): unknown {
    if (!Array.isArray(value) || !value.some((element) => isData(element))) return encoder.toJson(value);
    return compactReferences(Array.from(value, (element: unknown) => this.#element(element, encoder)));
  }

  #element(element: unknown, encoder: Encoder): unknown {
    if (!isData(element)) return encoder.toJson(element);
    const reference = this.#reference(element);
    if (reference !== undefined) return itemReference(this.#known(element, reference));
    const serialised = this.#serialise(element);
    if (serialised.data.length < smallElement) return encoder.toJson(element);
    return itemReference(this.#add(element, serialised));
  }

  /** The sequence of an object that is stored; a new one when it was changed since. */
  #known(object: object, reference: ItemReference): number {
    const message = isBaseMessage(object) ? object : undefined;
    const unchanged = message !== undefined && message.id === reference.id && message.content === reference.content;
    if (unchanged && (!this.#options.verify || this.#checks <= 0)) {
      this.weight += reference.size;
      return reference.sequence;
    }
    this.#checks -= 1;
    const serialised = this.#serialise(object);
    this.weight += serialised.data.length;
    reference.fingerprint ??= this.#storedFingerprint(reference.sequence);
    if (reference.fingerprint !== serialised.fingerprint) return this.#add(object, serialised);
    if (message === undefined || message.id === reference.id) return reference.sequence;
    if (reference.id === undefined && typeof serialised.data === "string") {
      // A reducer gave the message its id after the task's write was stored: the item gets it too, so that the write,
      // should it be applied again, gives the same message.
      this.#newIds.set(reference.sequence, serialised.data);
      this.#thread.remember(object, { ...reference, fingerprint: serialised.fingerprint });
      return reference.sequence;
    }
    const data = JSON.stringify({ $: ["i", reference.origin, message.id ?? null] });
    return this.#add(object, { data, fingerprint: serialised.fingerprint }, reference.origin);
  }

  #serialise(value: unknown): Serialised {
    const encoder = new Encoder(this, this.#ancestors);
    const kind = isBaseMessage(value) ? messageKind(value) : undefined;
    if (kind !== undefined && isBaseMessage(value)) {
      return serialiseMessage(value, kind, encoder);
    }
    const text = JSON.stringify(encoder.toJson(value));
    return { data: frame(text, encoder.bytes), fingerprint: fingerprintOf(text, encoder.bytes) };
  }

  #add(value: unknown, serialised: Serialised, origin?: number): number {
    if (this.#pending.length === 0) this.#first = this.#rows.nextItem(this.#thread);
    const sequence = this.#first + this.#pending.length;
    this.#pending.push(serialised.data);
    this.weight += serialised.data.length;
    this.#remember(value, sequence, origin ?? sequence, serialised);
    return sequence;
  }

  #remember(value: unknown, sequence: number, origin: number, serialised: Serialised): void {
    if (typeof value !== "object" || value === null) return;
    this.#thread.remember(value, {
      sequence,
      origin,
      fingerprint: serialised.fingerprint,
      size: serialised.data.length,
    });
  }

  #stored(ranges: Ranges): Map<number, string | Buffer> {
    const stored = new Map<number, string | Buffer>();
    forEachStoredItem(this.#rows, this.#thread, ranges, (sequence, data) => stored.set(sequence, data));
    return stored;
  }

  /** The fingerprint of a stored item: of its text without the id. */
  #storedFingerprint(sequence: number): number | undefined {
    const data = this.#stored([sequence, 1]).get(sequence);
    if (data === undefined) return undefined;
    const { text, bytes } = unframe(data);
    const json: unknown = JSON.parse(text);
    const parts: unknown[] =
      typeof json === "object" && json !== null && "$" in json && Array.isArray(json.$) ? json.$ : [];
    if (parts[0] === "i") return this.#storedFingerprint(Number(parts[1]));
    if (parts[0] !== "M") return fingerprintOf(text, [bytes]);
    const tail = parts.length < 4 ? 2 : JSON.stringify(parts[3]).length + 3;
    return fingerprintOf(text.slice(0, -tail), [bytes]);
  }
}

/** Whether a list element is an object other than a message. */
function isData(element: unknown): element is object {
  return typeof element === "object" && element !== null && !isBaseMessage(element);
}

function equal(left: string | Buffer | undefined, right: string | Buffer): boolean {
  if (left === undefined || typeof left === "string" || typeof right === "string") return left === right;
  return left.equals(right);
}
