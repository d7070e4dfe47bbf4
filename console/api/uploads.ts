import * as z from "zod/mini";
import { request } from "./client.ts";
import { pictureType } from "./file-content.ts";

/** Maximum pixels of a picture's longer side: models scale larger ones down. */
const maxSidePixels = 1_568;

/** Puts a file into the workspace, a large picture smaller; gives its path there. */
export async function uploadFile(file: File): Promise<string> {
  const bytes = (await smaller(file)) ?? file;
  const path = `/files/uploads?name=${encodeURIComponent(file.name)}`;
  return (await request(path, z.object({ path: z.string() }), { method: "POST", bytes })).path;
}

/** A picture with fewer pixels; `undefined` for one that has few, and for what cannot be drawn. A GIF may move. */
async function smaller(file: File): Promise<Blob | undefined> {
  const type = pictureType(file.name);
  if (type === undefined || type === "image/gif") return undefined;
  const picture = await createImageBitmap(file).catch(() => undefined);
  if (picture === undefined) return undefined;
  try {
    const scale = maxSidePixels / Math.max(picture.width, picture.height);
    if (scale >= 1) return undefined;
    const canvas = new OffscreenCanvas(Math.round(picture.width * scale), Math.round(picture.height * scale));
    canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return await canvas.convertToBlob({ type, quality: 0.9 });
  } finally {
    picture.close();
  }
}
