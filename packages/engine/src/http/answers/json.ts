import type { HttpContext } from "../environment.ts";
import { packedFrom } from "./pack.ts";
import { toWireJson } from "./wire.ts";

/** Answers 200 with any value, messages included. */
export function answerJson(context: HttpContext, value: unknown): Response {
  return answerBody(context, toWireJson(value), "application/json");
}

/** Answers 200 with a text or bytes of a type. What is long goes out packed, for who takes that. */
export function answerBody(context: HttpContext, body: string | Uint8Array<ArrayBuffer>, type: string): Response {
  if (body.length >= packedFrom) context.set("isLong", true);
  return context.body(body, 200, { "Content-Type": type });
}

/** Says how many rows match in all, and where the next page begins, as the SDK's paging reads it. */
export function pageHeaders(context: HttpContext, page: { offset: number; total: number; count: number }): void {
  const next = page.offset + page.count;
  context.header("X-Pagination-Total", String(page.total));
  if (next < page.total) context.header("X-Pagination-Next", String(next));
}

/** Only the fields of a row that were asked for. */
export function selected(row: object, fields: readonly string[] | null | undefined): object {
  if (fields === null || fields === undefined) return row;
  return Object.fromEntries(Object.entries(row).filter(([name]) => fields.includes(name)));
}
