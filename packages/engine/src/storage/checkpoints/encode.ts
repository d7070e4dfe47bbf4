import type { BaseMessage } from "@langchain/core/messages";
import { isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { isBaseMessage } from "../../message-kinds.ts";
import { setOwnProperty, messageFields } from "./messages.ts";
import type { Ranges } from "./snapshot.ts";
import { crc32 } from "node:zlib";

/** What becomes of messages: the sequence of an item, or (for a message that gets no item) its JSON. */
export interface MessageWriter {
  writeMessage(message: BaseMessage, encoder: Encoder): { sequence: number } | { json: unknown };
  /** The ranges of a long list whose elements all are items already, found without a look at each of their fields. */
  knownItemRanges(elements: readonly unknown[]): Ranges | undefined;
}

const tagged = (...parts: unknown[]): unknown => ({ $: parts });
const omitted = Symbol("omitted");

/** Whether an object is data with keys, not an instance that JSON would change. */
function objectTag(value: object, encoder: Encoder): unknown {
  if (value instanceof Date) return tagged("d", Number.isNaN(value.getTime()) ? null : value.getTime());
  if (value instanceof Map) return tagged("map", ...Array.from(value, (entry) => encoder.array(entry)));
  if (value instanceof Set) return tagged("set", ...Array.from(value, (entry) => encoder.toJson(entry)));
  if (ArrayBuffer.isView(value)) {
    return encoder.binary(value.constructor.name, new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (value instanceof ArrayBuffer) return encoder.binary("ArrayBuffer", new Uint8Array(value));
  if (value instanceof RegExp) return tagged("re", value.source, value.flags, value.lastIndex);
  if (value instanceof URL) return tagged("url", value.href);
  if (value instanceof Error) {
    const own = Object.fromEntries(Object.entries(value));
    const cause = value.cause === undefined ? {} : { cause: value.cause };
    return tagged("e", value.constructor.name, value.message, encoder.object({ ...own, name: value.name, ...cause }));
  }
  if (isDeltaSnapshot(value)) return tagged("delta", encoder.toJson(value.value));
  return undefined;
}

/**
 * One pass over one value. It is written as JSON, and what JSON lacks as `{ "$": [tag, …] }`; an object that has a `$`
 * of its own becomes `{ "$": ["o", object] }`. Bytes are kept as bytes: `bytes` collects what stands behind the JSON
 * (`frame`), named in it by its offset.
 */
export class Encoder {
  readonly bytes: Uint8Array[] = [];
  readonly #writer: MessageWriter;
  readonly #ancestors: object[];
  #length = 0;

  /** `ancestors` is shared by the encoders of nested messages, so that a circle through one is seen. */
  constructor(writer: MessageWriter, ancestors: object[]) {
    this.#writer = writer;
    this.#ancestors = ancestors;
  }

  /** The JSON of any value; the value itself when it is plain JSON already. Circles end as "[Circular]", as upstream. */
  toJson(value: unknown): unknown {
    const json = this.#write(value);
    return json === omitted ? tagged("u") : json;
  }

  /** Bytes behind the JSON, and the tag that finds them. */
  binary(kind: string, bytes: Uint8Array): unknown {
    const offset = this.#length;
    this.bytes.push(bytes);
    this.#length += bytes.byteLength;
    return tagged("b", kind, offset, bytes.byteLength);
  }

  #write(value: unknown): unknown {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : tagged("n", Object.is(value, -0) ? "-0" : `${value}`);
      case "undefined":
        return tagged("u");
      case "bigint":
        return tagged("big", `${value}`);
      case "object":
        return value === null ? null : this.#nested(value);
      default:
        return omitted;
    }
  }

  #nested(value: object): unknown {
    if (this.#ancestors.includes(value)) return "[Circular]";
    this.#ancestors.push(value);
    try {
      if (Array.isArray(value)) return this.array(value);
      const prototype: unknown = Object.getPrototypeOf(value);
      if (prototype === Object.prototype) return this.object(value);
      if (isBaseMessage(value)) {
        const written = this.#writer.writeMessage(value, this);
        return "json" in written ? written.json : itemReference(written.sequence);
      }
      if (prototype === null) return tagged("null", this.object(value));
      return objectTag(value, this) ?? this.#instance(value);
    } finally {
      this.#ancestors.pop();
    }
  }

  /** An array, entry by entry; consecutive items become ranges when it holds nothing else. */
  array(value: readonly unknown[]): unknown {
    const ranges = this.#writer.knownItemRanges(value);
    if (ranges !== undefined) return tagged("l", ...ranges);
    let copy: unknown[] | undefined;
    let items = value.length;
    for (let index = 0; index < value.length; index += 1) {
      const entry = value[index];
      const written = entry === undefined && !(index in value) ? tagged("hole") : this.#write(entry);
      if (written === entry) {
        if (copy !== undefined) copy.push(written);
        continue;
      }
      copy ??= value.slice(0, index);
      copy.push(written === omitted ? null : written);
      if (sequenceOf(written) !== undefined) items -= 1;
    }
    if (copy === undefined) return value;
    return items === 0 ? compactReferences(copy) : copy;
  }

  /** An object's own enumerable keys. Functions and symbols are left out, as JSON does. */
  object(value: object): unknown {
    let copy: Record<string, unknown> | undefined;
    let escape = false;
    const keys = Object.keys(value);
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index] ?? "";
      const entry: unknown = Reflect.get(value, key);
      const written = this.#write(entry);
      if (key === "$") escape = true;
      if (written !== entry && copy === undefined) {
        copy = {};
        for (const earlier of keys.slice(0, index)) setOwnProperty(copy, earlier, Reflect.get(value, earlier));
      }
      if (copy !== undefined && written !== omitted) setOwnProperty(copy, key, written);
    }
    return escape ? tagged("o", copy ?? value) : (copy ?? value);
  }

  /** Instances of other classes: LangChain's own by their `lc` record, others by `toJSON` or their keys. */
  #instance(value: object): unknown {
    // Send has a toJSON that adds a name nothing reads; upstream writes these three keys.
    if ("lg_name" in value && value.lg_name === "Send" && "node" in value && "args" in value) {
      const timeout = "timeout" in value && value.timeout !== undefined ? { timeout: value.timeout } : {};
      return this.object({ node: value.node, args: value.args, ...timeout });
    }
    if (!("toJSON" in value) || typeof value.toJSON !== "function") return this.object(value);
    const record: unknown = value.toJSON();
    const isRecord = typeof record === "object" && record !== null && "lc" in record && "type" in record;
    if (isRecord && record.lc === 1 && record.type === "constructor") return tagged("lc", JSON.stringify(record));
    return record === value ? this.object(value) : this.toJson(record);
  }
}

/** A reference to an item. */
export const itemReference = (sequence: number): unknown => tagged("m", sequence);

/** The JSON of an array from the JSON of its entries: ranges when all of them are references to items. */
export function compactReferences(nodes: unknown[]): unknown {
  return nodes.length > 0 && nodes.every((node) => sequenceOf(node) !== undefined) ? asRanges(nodes) : nodes;
}

/** The item a node refers to, when it is a reference to one. */
function sequenceOf(node: unknown): number | undefined {
  if (typeof node !== "object" || node === null || !("$" in node) || !Array.isArray(node.$)) return undefined;
  return node.$[0] === "m" && typeof node.$[1] === "number" ? node.$[1] : undefined;
}

function asRanges(nodes: readonly unknown[]): unknown {
  const ranges: number[] = [];
  for (const node of nodes) {
    const sequence = sequenceOf(node) ?? 0;
    const last = ranges.length - 2;
    if ((ranges[last] ?? NaN) + (ranges[last + 1] ?? 0) === sequence) ranges[last + 1] = (ranges[last + 1] ?? 0) + 1;
    else ranges.push(sequence, 1);
  }
  return tagged("l", ...ranges);
}

/** JSON text as it is; with bytes, a buffer: the text's length (4 bytes), the text, the bytes. */
export function frame(text: string, bytes: readonly Uint8Array[]): string | Buffer {
  if (bytes.length === 0) return text;
  const head = Buffer.alloc(4);
  head.writeUInt32LE(Buffer.byteLength(text));
  return Buffer.concat([head, Buffer.from(text), ...bytes]);
}

/** An object as it is stored. */
export interface Serialised {
  /** What goes into the item. */
  data: string | Buffer;
  /** A fingerprint of the fields without the id. */
  fingerprint: number;
}

/** A fingerprint of what is stored. */
export function fingerprintOf(text: string, bytes: readonly Uint8Array[]): number {
  let sum = crc32(text);
  for (const part of bytes) sum = crc32(part, sum);
  return sum * 0x100000 + (text.length % 0x100000);
}

/** A message's JSON; the id comes last, so that the fields alone have a fingerprint. */
export function serialiseMessage(message: BaseMessage, kind: string, encoder: Encoder): Serialised {
  const fields = JSON.stringify(encoder.object(messageFields(message)));
  const body = `{"$":["M","${kind}",${fields}`;
  const id = message.id ?? undefined;
  const text = id === undefined ? `${body}]}` : `${body},${JSON.stringify(id)}]}`;
  return { data: frame(text, encoder.bytes), fingerprint: fingerprintOf(body, encoder.bytes) };
}
