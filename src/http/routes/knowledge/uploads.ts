import { basename, extname } from "node:path";
import { Hono } from "hono";
import { z } from "zod";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { query, readBytes } from "@millrace/engine/http/validate";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import { imageTypeOf } from "../../../context/pictures.ts";
import { routeServicesOf, toolsOfCaller } from "../../../toolkits/route-services.ts";
import { writeNewFile } from "../../../tools/workspace/file-access.ts";
import { locate } from "../../../tools/workspace/workspace-path.ts";

/** The folder of the workspace that they come into. */
const folder = "uploads";
/** Maximum bytes of an uploaded file. */
const maxUploadBytes = 20 * 1024 * 1024;
/** Files of one name. */
const maxNamesakes = 1_000;

const UploadShape = z
  .object({
    path: z.string().describe("Relative to the workspace"),
    name: z.string(),
    size: z.number().int(),
    type: z.enum(["image", "file"]).describe("image: a PNG, JPEG or WebP by its bytes, which a model can be shown"),
    mime_type: z.string().describe("Empty for a file"),
  })
  .meta({ ref: "Upload", description: "As a message's `attachments` take it" });

/** `/files/uploads`: files that a person gives to a conversation. */
export function uploadRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.post(
    "/files/uploads",
    describe({
      tag: "Operations",
      summary: "Put a file into the folder uploads of the workspace, at most 20 MB; one of the same name stays",
      bytes: "The bytes of the file",
      answer: UploadShape,
      errors: {
        403: "The owner of the key may not create files",
        413: "It is too large",
        507: "The disk is full",
      },
    }),
    query(
      z.object({ name: z.string().min(1).max(200).describe("The name of the file; folders before it are left out") }),
    ),
    async (context) => {
      const services = routeServicesOf(context);
      if (toolsOfCaller(services)?.has("create_file") === false) {
        throw new AppError("permission", "No files may be made in the workspace with this key.", {
          suggestion: "Ask the operator of the server to allow the tool create_file for this key.",
          message_zh: "当前密钥无权在工作区中创建文件。请联系服务器管理员。",
        });
      }
      const bytes = await readBytes(context, maxUploadBytes);
      const name = safeName(context.req.valid("query").name);
      const { workspace } = services.config;
      const path = await writeUnder(name, bytes, { workspace, repeated: false, signal: context.req.raw.signal });
      const mime_type = imageTypeOf(bytes, name) ?? "";
      const type = mime_type === "" ? ("file" as const) : ("image" as const);
      return respondJson(context, { path, name: basename(path), size: bytes.length, type, mime_type });
    },
  );
  return routes;
}

/** A name without folders and control characters, which begins with no dot. */
function safeName(name: string): string {
  const last = name.split(/[/\\]/u).at(-1) ?? "";
  const plain = last
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\uFFFD]/gu, "")
    .replace(/^[.\s]+/u, "")
    .trim();
  return plain === "" ? "file" : plain.slice(-120);
}

/** Writes a file under a name, or with a number behind it where that is taken. Gives its path. */
async function writeUnder(name: string, bytes: Uint8Array, files: Parameters<typeof writeNewFile>[0]): Promise<string> {
  const end = extname(name);
  const stem = name.slice(0, name.length - end.length);
  for (let number = 1; number <= maxNamesakes; number += 1) {
    const path = `${folder}/${number === 1 ? name : `${stem}-${number}${end}`}`;
    const place = await locate(files.workspace, path, "keep");
    if (place.kind !== "missing") continue;
    try {
      await writeNewFile(files, place, bytes);
      return path;
    } catch (error) {
      // Another upload was quicker.
      if (!isAppError(error) || error.code !== "conflict") throw error;
    }
  }
  throw new AppError("conflict", `There are ${maxNamesakes} files named ${name}.`, {
    suggestion: "Rename it.",
    message_zh: `名为“${name}”的文件已有 ${maxNamesakes} 个。请换一个名称。`,
  });
}
