import { extname } from "node:path";
import { HumanMessage, isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { readExtras } from "@millrace/engine/sessions/messages/message-fields";
import { withFile } from "../tools/workspace/file-access.ts";
import { locate } from "../tools/workspace/workspace-path.ts";
import { imageSize } from "./tokens/image-size.ts";

/** Maximum bytes of a picture that a model is shown. */
const maxPictureBytes = 20 * 1024 * 1024;
/** Pictures in a request; of more the newest are shown. */
const maxShown = 10;

/** The type of a picture by its bytes, if its name fits; `undefined` for anything else. */
export function imageTypeOf(bytes: Buffer, name: string): string | undefined {
  const types: Record<string, string> = { ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp" };
  const type = types[extname(name).toLowerCase()];
  return type !== undefined && imageSize(bytes) !== undefined ? `image/${type}` : undefined;
}

/** Whether pictures are attached to a message of the user. */
export function hasPictures(message: BaseMessage): boolean {
  return isHumanMessage(message) && picturesOf(message).length > 0;
}

function picturesOf(message: BaseMessage): string[] {
  const { attachments } = message.additional_kwargs;
  if (!Array.isArray(attachments) || attachments.length === 0) return [];
  return readExtras(message).attachments.flatMap(({ type, path }) => (type === "image" ? [path] : []));
}

/** Messages with their pictures: one that stays in the conversation is the same object in each request of a turn. */
const shown = new WeakMap<BaseMessage, Promise<BaseMessage>>();

/**
 * The messages of a request for a model that sees: pictures attached to the user's messages become parts of them. One
 * that cannot be read is left out; the model has its name.
 */
export async function withPictures(
  messages: BaseMessage[],
  workspace: string,
  signal: AbortSignal,
): Promise<BaseMessage[]> {
  if (!messages.some(hasPictures)) return messages;
  let left = maxShown;
  const result: Promise<BaseMessage>[] = [];
  for (const message of messages.toReversed()) {
    const paths = isHumanMessage(message) ? picturesOf(message) : [];
    const isShown = paths.length > 0 && left > 0;
    left -= paths.length;
    if (!isShown) {
      result.push(Promise.resolve(message));
      continue;
    }
    const made = shown.get(message) ?? withParts(message, paths, { workspace, repeated: false, signal });
    shown.set(message, made);
    made.catch(() => shown.delete(message));
    result.push(made);
  }
  return (await Promise.all(result)).toReversed();
}

async function withParts(
  message: BaseMessage,
  paths: readonly string[],
  files: Parameters<typeof withFile>[0],
): Promise<BaseMessage> {
  const parts: { type: "image_url"; image_url: { url: string } }[] = [];
  for (const path of paths) {
    const url = await readPicture(path, files);
    if (url !== undefined) parts.push({ type: "image_url", image_url: { url } });
  }
  if (parts.length === 0) return message;
  const { id, name, additional_kwargs, content } = message;
  const words = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return new HumanMessage({
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    additional_kwargs,
    content: [...words, ...parts],
  });
}

/** A picture of the workspace as a data URL. */
async function readPicture(path: string, files: Parameters<typeof withFile>[0]): Promise<string | undefined> {
  try {
    const place = await locate(files.workspace, path);
    return await withFile(files, place, async (handle, { size }) => {
      if (size > maxPictureBytes) return undefined;
      const bytes = await handle.readFile({ signal: files.signal });
      const type = imageTypeOf(bytes, place.path);
      return type && `data:${type};base64,${bytes.toString("base64")}`;
    });
  } catch (error) {
    files.signal.throwIfAborted();
    if (error instanceof Error) return undefined;
    throw error;
  }
}
