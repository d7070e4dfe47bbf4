import { AppError } from "../../errors/errors.ts";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { setOwnProperty, makeMessage } from "./messages.ts";
import { expand, type Ranges } from "./snapshot.ts";

const errors = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const views = {
  Int8Array: (buffer: ArrayBuffer) => new Int8Array(buffer),
  Uint8ClampedArray: (buffer: ArrayBuffer) => new Uint8ClampedArray(buffer),
  Int16Array: (buffer: ArrayBuffer) => new Int16Array(buffer),
  Uint16Array: (buffer: ArrayBuffer) => new Uint16Array(buffer),
  Int32Array: (buffer: ArrayBuffer) => new Int32Array(buffer),
  Uint32Array: (buffer: ArrayBuffer) => new Uint32Array(buffer),
  Float32Array: (buffer: ArrayBuffer) => new Float32Array(buffer),
  Float64Array: (buffer: ArrayBuffer) => new Float64Array(buffer),
  BigInt64Array: (buffer: ArrayBuffer) => new BigInt64Array(buffer),
  BigUint64Array: (buffer: ArrayBuffer) => new BigUint64Array(buffer),
  DataView: (buffer: ArrayBuffer) => new DataView(buffer),
};

/** What a decoder needs from outside. */
export interface DecodeSource {
  /** The objects of items, by sequence; a missing one is an error of the source. */
  items(ranges: Ranges, decoder: Decoder): Map<number, unknown>;
  /** The live object of a LangChain record, `undefined` when it is not made yet. */
  langChainObject(record: string): unknown;
}

const noBytes = Buffer.alloc(0);

function isKey<T extends object>(table: T, key: unknown): key is keyof T {
  return typeof key === "string" && Object.hasOwn(table, key);
}

function corrupt(what: string): AppError {
  return new AppError("storage_corrupt", `A stored value is not one of ours: ${what}.`, {
    suggestion: "Restore the database from a backup.",
  });
}

/** Text and bytes of what `frame` made. */
export function unframe(data: string | Buffer): { text: string; bytes: Buffer } {
  if (typeof data === "string") return { text: data, bytes: noBytes };
  const end = 4 + data.readUInt32LE(0);
  return { text: data.toString("utf8", 4, end), bytes: data.subarray(end) };
}

/**
 * Turns rows back into values: the reverse of `Encoder`. Only a closed list of constructors is ever called; what is on
 * disk is data. Works in place on freshly parsed JSON.
 */
export class Decoder {
  readonly #source: DecodeSource;

  constructor(source: DecodeSource) {
    this.#source = source;
  }

  /** The value of a whole row. */
  decode(data: string | Buffer): unknown {
    const { text, bytes } = unframe(data);
    const json: unknown = JSON.parse(text);
    return this.revive(json, bytes);
  }

  /** The value of parsed JSON, which is changed in place. */
  revive(json: unknown, bytes: Buffer): unknown {
    if (typeof json !== "object" || json === null) return json;
    if (Array.isArray(json)) {
      for (let index = 0; index < json.length; index += 1) {
        const entry: unknown = json[index];
        if (typeof entry !== "object" || entry === null) continue;
        if (isHole(entry)) Reflect.deleteProperty(json, index);
        else json[index] = this.revive(entry, bytes);
      }
      return json;
    }
    if ("$" in json) return this.#tagged(json.$, bytes);
    return this.#object(json, bytes);
  }

  #object(json: object, bytes: Buffer): object {
    for (const [key, entry] of Object.entries(json)) {
      if (typeof entry !== "object" || entry === null) continue;
      const value = this.revive(entry, bytes);
      if (value !== entry) setOwnProperty(json, key, value);
    }
    return json;
  }

  #tagged(parts: unknown, bytes: Buffer): unknown {
    if (!Array.isArray(parts)) throw corrupt("a tag without parts");
    const [tag, first, second, third]: unknown[] = parts;
    switch (tag) {
      case "m":
        return this.#item(first);
      case "l":
        return this.#list(parts.slice(1));
      case "M":
        return this.#message(first, second, third, bytes);
      case "i":
        return this.#renamed(first, second);
      case "u":
        return undefined;
      case "d":
        return new Date(typeof first === "number" ? first : NaN);
      case "b":
        return view(first, bytes.subarray(Number(second), Number(second) + Number(third)));
      case "lc":
        return this.#source.langChainObject(String(first));
      case "n":
        return Number(first);
      case "big":
        return BigInt(String(first));
      default:
        return this.#container(tag, parts, bytes);
    }
  }

  #container(tag: unknown, parts: unknown[], bytes: Buffer): unknown {
    const [, first, second, third] = parts;
    const isObject = typeof first === "object" && first !== null;
    if (tag === "o" && isObject) return this.#object(first, bytes);
    if (tag === "null" && isObject) return Object.setPrototypeOf(this.revive(first, bytes), null);
    if (tag === "set") return new Set(parts.slice(1).map((entry) => this.revive(entry, bytes)));
    if (tag === "map") {
      return new Map(
        parts.slice(1).map((entry) => {
          const pair = this.revive(entry, bytes);
          return Array.isArray(pair) ? [pair[0], pair[1]] : [undefined, undefined];
        }),
      );
    }
    if (tag === "delta") return new DeltaSnapshot(this.revive(first, bytes));
    if (tag === "url") return new URL(String(first));
    if (tag === "re") {
      const expression = new RegExp(String(first), String(second));
      expression.lastIndex = Number(third);
      return expression;
    }
    if (tag === "e") return madeError(first, String(second), this.revive(third, bytes));
    throw corrupt(`unknown tag ${String(tag)}`);
  }

  #item(sequence: unknown): unknown {
    const key = Number(sequence);
    return this.#source.items([key, 1], this).get(key);
  }

  #list(numbers: unknown[]): unknown[] {
    const ranges = numbers.map(Number);
    const items = this.#source.items(ranges, this);
    return expand(ranges).map((sequence) => items.get(sequence));
  }

  #message(kind: unknown, fields: unknown, id: unknown, bytes: Buffer): unknown {
    if (typeof fields !== "object" || fields === null) throw corrupt("a message without fields");
    const values = this.revive(fields, bytes) as Record<string, unknown>; // freshly parsed JSON
    const message = makeMessage(String(kind), values, id);
    if (message === undefined) throw corrupt(`unknown message class ${String(kind)}`);
    return message;
  }

  /** A message that was stored before it had its id: the same fields, another object. */
  #renamed(sequence: unknown, id: unknown): unknown {
    const message = this.#source.items([Number(sequence), 1], new Decoder(this.#source)).get(Number(sequence));
    return renamed(message, id);
  }
}

/** A copy of a message with another id. */
function renamed(message: unknown, id: unknown): unknown {
  if (typeof message !== "object" || message === null || !("lc_kwargs" in message)) throw corrupt("an id of nothing");
  const copy: unknown = Object.assign(Object.create(Object.getPrototypeOf(message)), message, {
    id,
    lc_kwargs: Object.assign({}, message.lc_kwargs, { id }),
  });
  return copy;
}

function isHole(entry: object): boolean {
  return "$" in entry && Array.isArray(entry.$) && entry.$[0] === "hole";
}

function view(kind: unknown, bytes: Buffer): unknown {
  if (kind === "Buffer") return Buffer.from(bytes);
  const { buffer } = new Uint8Array(bytes);
  if (kind === "ArrayBuffer") return buffer;
  return isKey(views, kind) ? views[kind](buffer) : new Uint8Array(buffer);
}

function madeError(kind: unknown, message: string, rest: unknown): Error {
  const error = isKey(errors, kind) ? new errors[kind](message) : new Error(message);
  if (typeof rest !== "object" || rest === null) return error;
  for (const [key, value] of Object.entries(rest)) {
    if (key === "name" && value === error.name) continue;
    Object.defineProperty(error, key, {
      value,
      writable: true,
      enumerable: key !== "cause" && key !== "name",
      configurable: true,
    });
  }
  return error;
}
