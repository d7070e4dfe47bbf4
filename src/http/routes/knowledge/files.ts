import { lstat, readdir } from "node:fs/promises";
import { basename, relative } from "node:path";
import { Hono } from "hono";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { respondBytes } from "@millrace/engine/http/responses/bytes";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { query } from "@millrace/engine/http/validate";
import { withMarks } from "../../../guardrails/marked-files.ts";
import { type RouteServices, routeServicesOf, toolsOfCaller } from "../../../toolkits/route-services.ts";
import { maxManualWriteBytes as maxBytes, tagOf } from "../../../tools/undo/manual-writes.ts";
import { notFound, withFile } from "../../../tools/workspace/file-access.ts";
import { leadsToCritical } from "../../../tools/workspace/file-checks.ts";
import {
  isReservedName,
  isTemporaryName,
  kindOf,
  locate,
  type Place,
  withFolder,
} from "../../../tools/workspace/workspace-path.ts";

/** Says that a tool would ask before it changes the file, so that a client can ask, too. */
const criticalHeader = "millrace-critical-file";
/** Maximum entries of a folder in an answer. */
const maxEntries = 1_000;

const EntryShape = z.object({
  name: z.string(),
  path: z.string().describe("Relative to the workspace"),
  kind: z.enum(["file", "folder", "link", "other"]),
  size: z.number().int().nullable().describe("Bytes of a file"),
  modified_at: z.string(),
});
const FolderShape = z
  .object({
    path: z.string().describe("Empty for the workspace itself"),
    entries: z.array(EntryShape).describe("Folders first, then by name"),
    more: z.number().int().describe("How many entries are left out"),
  })
  .meta({ ref: "WorkspaceFolder" });

/** `/files`: the workspace's folders and files, for clients that show what a message refers to. */
export function fileRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/files",
    describe({
      tag: "Operations",
      summary: `What is in a folder of the workspace, at most ${maxEntries} entries`,
      answer: FolderShape,
      errors: {
        400: "No path in the workspace, or a file",
        403: "The path leads out of the workspace, or the owner of the key may not list files",
        404: "No such folder",
      },
    }),
    query(
      z.object({ path: z.string().max(3_000).default("").describe("Relative to the workspace, which is the default") }),
    ),
    async (context) => {
      const services = servicesWith(context, "list_files");
      return respondJson(context, await folderAt(services.config.workspace, context.req.valid("query").path));
    },
  );
  contentRoute(routes);
  return routes;
}

/** The services of a caller who may use a tool. Throws 403 for others. */
function servicesWith(context: HttpContext, tool: "list_files" | "read_file"): RouteServices {
  const services = routeServicesOf(context);
  if (toolsOfCaller(services)?.has(tool) === false) {
    throw new AppError("permission", "The files of the workspace may not be read with this key.", {
      suggestion: `Ask the operator of the server to allow the tool ${tool} for this key.`,
      message_zh: "当前密钥无权读取工作区中的文件。请联系服务器管理员。",
    });
  }
  return services;
}

async function folderAt(workspace: string, path: string): Promise<z.infer<typeof FolderShape>> {
  const place = path === "" ? undefined : await locate(workspace, path);
  if (place !== undefined) await requireFolder(workspace, place);
  const folder = place?.real ?? workspace;
  const prefix = place === undefined ? "" : `${place.path}/`;
  return await withFolder(workspace, folder, async (at) => {
    const all = await readdir(at("."), { withFileTypes: true });
    const own = all.filter(({ name }) => !isTemporaryName(name) && !(prefix === "" && isReservedName(name)));
    const sorted = own.toSorted(
      (one, other) => Number(other.isDirectory()) - Number(one.isDirectory()) || one.name.localeCompare(other.name),
    );
    const entries = await Promise.all(
      sorted.slice(0, maxEntries).map(async ({ name }) => {
        // It may have gone since the folder was read.
        const stats = await lstat(at(name)).catch(() => undefined);
        if (stats === undefined) return [];
        const kind = kindOf(stats);
        const size = kind === "file" ? stats.size : null;
        return [{ name, path: `${prefix}${name}`, kind, size, modified_at: stats.mtime.toISOString() }];
      }),
    );
    return { path: place?.path ?? "", entries: entries.flat(), more: Math.max(0, sorted.length - maxEntries) };
  });
}

async function requireFolder(workspace: string, place: Place): Promise<void> {
  if (place.kind === "missing") throw await notFound(workspace, place);
  if (place.kind !== "folder") throw new AppError("invalid_parameter", `"${place.path}" is no folder.`);
}

function contentRoute(routes: HttpApp): void {
  routes.get(
    "/files/content",
    describe({
      tag: "Operations",
      summary: "The bytes of a file of the workspace, at most 20 MB; a part of them for a Range",
      bodiless: {
        200: `The bytes, as a file to be saved; ${criticalHeader}: true, where much depends on it`,
        206: "The bytes that Range asked for",
      },
      errors: {
        400: "No path in the workspace, a folder, or a file over 20 MB",
        403: "The path leads out of the workspace, or the owner of the key may not read files",
        404: "No such file",
        416: "It has no such bytes",
      },
    }),
    query(z.object({ path: z.string().max(3_000).describe("Relative to the workspace") })),
    async (context) => {
      const { config, settings } = servicesWith(context, "read_file");
      const { workspace } = config;
      const { signal } = context.req.raw;
      const { path } = context.req.valid("query");
      const place = await locate(workspace, path);
      const bytes = await withFile({ workspace, repeated: false, signal }, place, async (handle, { size }) => {
        if (size > maxBytes) {
          throw new AppError(
            "invalid_parameter",
            `"${place.path}" has ${size} bytes; at most ${maxBytes} are handed out.`,
          );
        }
        return handle.readFile({ signal });
      });
      // A workspace file must never be rendered as a page of this server.
      return respondBytes(context, bytes, {
        "content-type": "application/octet-stream",
        etag: tagOf(bytes),
        "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(basename(place.path))}`,
        "content-security-policy": "sandbox",
        "x-content-type-options": "nosniff",
        ...(isCritical({ workspace, path, place }, settings.current().criticalFiles) && { [criticalHeader]: "true" }),
      });
    },
  );
}

/** Whether a change of a file counts as one of a critical file; `marked`: the operator's patterns of such files. */
function isCritical(
  { workspace, path, place }: { workspace: string; path: string; place: Place },
  marked: readonly string[],
): boolean {
  if (leadsToCritical(workspace, path, place)) return true;
  const names = [path, relative(workspace, place.real)];
  return withMarks({ type: "SimpleModify" }, names, marked).type === "ModifyCriticalFile";
}
