import type { BaseMessage } from "@langchain/core/messages";
import { isBaseMessage, kindOf, withoutSealed } from "../../message-kinds.ts";
import type { HttpContext } from "../environment.ts";
import { packedFrom } from "../middleware/request-basics.ts";
import type { Language } from "../../language.ts";

/** Nesting levels that are written out; deeper ones become a text, which ends circular values. */
const maximumDepth = 100;

/**
 * Any value as JSON text, as LangGraph's wire writes it: messages flattened (`{type, content, …}`), errors as `{error,
 * message}`, maps as objects, sets as arrays, bytes as base64, big integers as text.
 */
export function toWireJson(value: unknown): string {
  return JSON.stringify(toWire(value)) ?? "null";
}

/** A value as `toWireJson` writes it, before stringifying; unchanged parts are not copied. */
export function toWire(value: unknown, depth = 0): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (depth > maximumDepth) return `[nested deeper than ${maximumDepth} levels]`;
  if (Array.isArray(value)) return wireArray(value, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return wireObject(value, depth);
  if (isBaseMessage(value)) return wireMessage(value, depth);
  if (value instanceof Error) return { error: value.name, message: value.message };
  if (value instanceof Map) return wireObject(Object.fromEntries(value), depth);
  if (value instanceof Set) return wireArray([...value], depth);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if ("toJSON" in value && typeof value.toJSON === "function") return toWire(value.toJSON(), depth + 1);
  return wireObject({ ...value }, depth);
}

function wireArray(array: unknown[], depth: number): unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < array.length; index++) {
    const item = array[index];
    const wired = toWire(item, depth + 1);
    if (wired === item) continue;
    copy ??= array.slice();
    copy[index] = wired;
  }
  return copy ?? array;
}

function wireObject(object: object, depth: number): object {
  let copy: Record<string, unknown> | undefined;
  for (const [key, item] of Object.entries(object)) {
    if (typeof item !== "object" && typeof item !== "bigint") continue;
    const wired = toWire(item, depth + 1);
    if (wired === item) continue;
    copy ??= { ...object };
    copy[key] = wired;
  }
  return copy ?? object;
}

/**
 * The fields of every message kind, in LangChain's spelling; JSON drops undefined ones. Encrypted reasoning that only
 * its vendor can read is left out.
 */
function wireMessage(message: BaseMessage, depth: number): Record<string, unknown> {
  // Message kinds differ in their fields; a missing one reads as undefined.
  const fields = message as BaseMessage & Record<string, unknown>;
  return {
    type: kindOf(message),
    content: message.content,
    additional_kwargs: toWire(withoutSealed(message.additional_kwargs), depth + 1),
    response_metadata: toWire(message.response_metadata, depth + 1),
    id: message.id,
    name: message.name,
    role: fields["role"],
    tool_calls: fields["tool_calls"],
    invalid_tool_calls: fields["invalid_tool_calls"],
    usage_metadata: fields["usage_metadata"],
    tool_call_chunks: fields["tool_call_chunks"],
    tool_call_id: fields["tool_call_id"],
    status: fields["status"],
    artifact: toWire(fields["artifact"], depth + 1),
    metadata: toWire(fields["metadata"], depth + 1),
  };
}

/** Answers 200 with any value, messages included. */
export function respondJson(context: HttpContext, value: unknown): Response {
  return answerBody(context, toWireJson(value), "application/json");
}

/** Answers 200 with text or bytes of a type. Long bodies are compressed if the client accepts it. */
export function answerBody(context: HttpContext, body: string | Uint8Array<ArrayBuffer>, type: string): Response {
  if (body.length >= packedFrom) context.set("isLong", true);
  return context.body(body, 200, { "Content-Type": type });
}

/** Sets the total number of matches and the offset of the next page, as the SDK's paging reads them. */
export function pageHeaders(context: HttpContext, page: { offset: number; total: number; count: number }): void {
  const next = page.offset + page.count;
  context.header("X-Pagination-Total", String(page.total));
  if (next < page.total) context.header("X-Pagination-Next", String(next));
}

/** Picks the requested fields of a row. */
export function selected(row: object, fields: readonly string[] | null | undefined): object {
  if (fields === null || fields === undefined) return row;
  return Object.fromEntries(Object.entries(row).filter(([name]) => fields.includes(name)));
}

/** The reader's language by `Accept-Language`: Chinese if it precedes English, else English. */
export function languageOf(context: HttpContext): Language {
  return namedLanguage(context) ?? "en";
}

/** The same, or `undefined` if the reader names neither. */
export function namedLanguage(context: HttpContext): Language | undefined {
  const wanted = (context.req.header("accept-language") ?? "")
    .slice(0, 1000)
    .split(",")
    .map((part) => {
      const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
      const quality = parameters.map((one) => /^\s*q=([\d.]+)\s*$/u.exec(one)?.[1]).find((text) => text !== undefined);
      return { tag: tag.trim(), quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ tag, quality }) => quality > 0 && /^(en|zh)\b/u.test(tag))
    .toSorted((one, other) => other.quality - one.quality);
  const [first] = wanted;
  return first && (first.tag.startsWith("zh") ? "zh" : "en");
}

/** Prefix of a field that names one key of the values. */
const ofValues = "values.";

/**
 * Picks the requested fields of a ThreadState: `values.<key>` is one key of its values, `values` all of them.
 * Everything if nothing was requested.
 */
export function selectState(state: object, fields: readonly string[] | null | undefined): object {
  if (fields === null || fields === undefined) return state;
  const entries = new Map<string, unknown>(Object.entries(state));
  const chosen = [...entries].filter(([name]) => fields.includes(name));
  const keys = fields.filter((field) => field.startsWith(ofValues)).map((field) => field.slice(ofValues.length));
  if (fields.includes("values") || keys.length === 0) return Object.fromEntries(chosen);
  const values = Object.entries(entries.get("values") ?? {}).filter(([key]) => keys.includes(key));
  return Object.fromEntries([["values", Object.fromEntries(values)], ...chosen]);
}
