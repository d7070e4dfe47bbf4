import { crc32 } from "node:zlib";
import type { BaseMessage } from "@langchain/core/messages";
import { frame, type Encoder } from "./encode.ts";
import { messageFields } from "./messages.ts";

/** An object as it is stored. */
export interface Serialised {
  /** What goes into the item. */
  data: string | Buffer;
  /** A fingerprint of the fields without the id. */
  print: number;
}

/** A fingerprint of what is stored. */
export function print(text: string, bytes: readonly Uint8Array[]): number {
  let sum = crc32(text);
  for (const part of bytes) sum = crc32(part, sum);
  return sum * 0x100000 + (text.length % 0x100000);
}

/** A message's JSON; the id comes last, so that the fields alone have a print. */
export function serialiseMessage(message: BaseMessage, kind: string, encoder: Encoder): Serialised {
  const fields = JSON.stringify(encoder.object(messageFields(message)));
  const body = `{"$":["M","${kind}",${fields}`;
  const id = message.id ?? undefined;
  const text = id === undefined ? `${body}]}` : `${body},${JSON.stringify(id)}]}`;
  return { data: frame(text, encoder.bytes), print: print(body, encoder.bytes) };
}
