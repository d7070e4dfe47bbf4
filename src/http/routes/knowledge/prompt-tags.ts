import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import type { HttpContext } from "@millrace/engine/http/environment";
import type { IdentityRecord } from "../../../prompts/identity/identity-manager.ts";
import type { PromptRecord } from "../../../prompts/manager.ts";
import { tagOf } from "../../../tools/undo/manual-writes.ts";
import { knownBy } from "./file-writes.ts";

type TextRecord = PromptRecord | IdentityRecord;

/** The tag of a template or an identity, as its response has it. */
export const EtagShape = z.string().describe("As ETag, for If-Match");

/** The tag of a template or an identity: another one as soon as anything is different that a caller can change. */
export function tagOfText(record: TextRecord): string {
  const { source, name, description, content, variables, required_variables } = record;
  const parts = [source, name, description, content, variables, required_variables];
  return tagOf(Buffer.from(JSON.stringify(parts)));
}

/** A template or an identity with its tag, which becomes the ETag of the response. */
export function withTag<Text extends TextRecord>(context: HttpContext, record: Text): Text & { etag: string } {
  const etag = tagOfText(record);
  context.header("ETag", etag);
  return { ...record, etag };
}

/** Checks that a text is still as `If-Match` says, if the request has that header. Throws 412. */
export function requireUnchanged(context: HttpContext, record: TextRecord): void {
  const etag = tagOfText(record);
  const isKnown = knownBy(context);
  if (isKnown === undefined || isKnown(etag)) return;
  throw new HTTPException(412, { message: `The text has changed; its ETag is ${etag}.` });
}
