import { createHash } from "node:crypto";
import { unlink } from "node:fs/promises";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { AppError } from "@millrace/engine/errors/errors";
import type { Ledger, OperationStore } from "@millrace/engine/storage/attempt-store";
import type { OperationRecord } from "@millrace/engine/storage/records";
import type { Locks } from "../runtime/locks.ts";
import { success } from "../runtime/result.ts";
import { plainContext, type ToolContext } from "../runtime/tool.ts";
import type { ToolkitServices } from "../runtime/toolkit-services.ts";
import { confirmEffect, replaceFile, withFile, writeNewFile } from "../workspace/file-access.ts";
import { writing } from "../workspace/file-checks.ts";
import { locate, ownName, withFolder, type Place } from "../workspace/workspace-path.ts";
import { withoutHunks } from "./hunks.ts";
import { hasHunks } from "./operation-diff.ts";
import { recordOperation, textOfState } from "./record-operation.ts";

/** Maximum bytes of a file that is read or written by hand. */
export const maxManualWriteBytes = 20 * 1024 * 1024;

/** What a person writes into the workspace. */
export interface ManualWrite {
  path: string;
  /** `null`: the file is deleted. */
  content: Uint8Array | null;
  /** Whether the file is still the one that the writer knows, by its tag; `null`: there is none. */
  isKnown: (tag: string | null) => boolean;
  /** The folder that the path is in; default the workspace. */
  root?: string | undefined;
  /** The session of whose operations it is one; without one it is not recorded. */
  sessionId?: string | undefined;
}

/** How a write by hand ended; `changed`: it was not the known file, and nothing was done. */
export interface ManualWriteResult {
  kind: "written" | "changed";
  path: string;
  /** That of the file as it is now. */
  tag: string | null;
  /** The id of the operation, if it changed something and is recorded. */
  recorded: string | undefined;
}

/** Changes of the workspace that a person makes in an editor or a diff, under the same locks as those of tools. */
export interface ManualWrites {
  /** Writes or deletes a file, if it is still the known one. Throws what the file tools throw. */
  write(change: ManualWrite, signal: AbortSignal): Promise<ManualWriteResult>;
  /**
   * Takes some hunks of an operation's diff back, by number; all others stay. It is an operation itself, whose id this
   * gives. Throws `not_found`, `invalid_state` if there are no such hunks, and `conflict`, with nothing changed, if the
   * file has changed there since.
   */
  undoHunks(operation: OperationRecord, hunks: readonly number[], signal: AbortSignal): Promise<string>;
}

/** What `createManualWrites` needs. `locks` are the tools' own. `confirm`: see `Ledger`. */
export interface ManualWriteParts {
  confirm?: Ledger["confirm"];
  store: OperationStore;
  locks: Locks;
  workspace: string;
  toolkitServices: ToolkitServices;
}

/** Names the content of a file, for `ETag`. */
export function tagOf(bytes: Uint8Array): string {
  return `"${createHash("sha256").update(bytes).digest("hex").slice(0, 32)}"`;
}

/** Opens what persons write by hand. */
export function createManualWrites(parts: ManualWriteParts): ManualWrites {
  const contextOf = (sessionId: string, signal: AbortSignal, workspace = parts.workspace): ToolContext => {
    const { toolkitServices, confirm } = parts;
    return plainContext({ workspace, toolkitServices, confirm, sessionId, callId: newId(), signal });
  };
  return {
    async write({ path, content, isKnown, sessionId, root }, signal) {
      const context = contextOf(sessionId ?? "", signal, root);
      const { workspace } = context;
      return await parts.locks.withLocks([writing(workspace, path)], signal, async () => {
        const place = await locate(workspace, path, content === null ? "keep" : "follow");
        ownName(workspace, place);
        const tag = await tagAt(context, place);
        if (!isKnown(tag)) return { kind: "changed", path: place.path, tag, recorded: undefined };
        const work = { tool: content === null ? "delete_file" : "write_file", place, content };
        const recorded = await written(work, context, sessionId === undefined ? undefined : parts);
        return { kind: "written", path: place.path, tag: content === null ? null : tagOf(content), recorded };
      });
    },

    async undoHunks(record, hunks, signal) {
      const { change, session_id, operation_id } = record;
      const { before, after } = change.kind === "write" ? change : { before: null, after: null };
      const texts = await Promise.all(
        [before, after].map(async (state) =>
          state?.kind === "file" ? textOfState(state, (hash) => parts.store.content(operation_id, hash)) : undefined,
        ),
      );
      const [was, is] = texts;
      if (change.kind !== "write" || !hasHunks(record) || was === undefined || is === undefined) {
        throw new AppError("invalid_state", `Operation ${operation_id} has no hunks that could be taken back.`, {
          suggestion: "Only a kept change of a text has some; undo takes back the whole operation.",
        });
      }
      const { path } = change;
      return await parts.locks.withLocks([writing(parts.workspace, path)], signal, async () => {
        const context = contextOf(session_id, signal);
        const place = await locate(parts.workspace, path, "keep");
        const bytes = place.kind === "file" ? await bytesAt(context, place) : undefined;
        const now = bytes === undefined ? undefined : textIn(bytes);
        if (now === undefined) throw changedThere(path, hunks[0] ?? 1);
        const found = withoutHunks({ before: was, after: is, now }, hunks);
        if (found.kind === "changed") throw changedThere(path, found.hunk);
        if (found.kind === "unknown") throw new AppError("not_found", `The diff has no hunk ${found.hunk}.`);
        const content = Buffer.from(found.text);
        const recorded = await written({ tool: "edit_file", place, content }, context, parts);
        if (recorded === undefined) throw changedThere(path, hunks[0] ?? 1);
        return recorded;
      });
    },
  };
}

/** What is written, and the tool whose effect it has. */
interface Work {
  tool: string;
  place: Place;
  content: Uint8Array | null;
}

/** Writes it, and records it where there is a place for that. */
async function written(
  { tool: name, place, content }: Work,
  context: ToolContext,
  parts: Pick<ManualWriteParts, "store"> | undefined,
): Promise<string | undefined> {
  const run = async () => {
    if (content === null) await removeFile(context, place);
    else if (place.kind === "missing") await writeNewFile(context, place, content);
    else await replaceFile(context, place, content);
    return success("");
  };
  if (parts === undefined) {
    await run();
    return undefined;
  }
  const lastLink = content === null ? ("keep" as const) : ("follow" as const);
  const touches = () => ({ kind: "write" as const, path: place.path, lastLink });
  // As with calls by hand: it belongs to no run, and is the only one of its own.
  const owner = { run_id: context.callId, message_id: context.callId };
  return (await recordOperation({ name, touches, run }, {}, context, owner, parts.store)).operation?.operation_id;
}

async function removeFile(context: ToolContext, place: Place): Promise<void> {
  const { folder, name } = ownName(context.workspace, place);
  await withFolder(context.workspace, folder, async (at, sync) => {
    await confirmEffect(context);
    await unlink(at(name));
    await sync();
  });
}

async function tagAt(context: ToolContext, place: Place): Promise<string | null> {
  return place.kind === "missing" ? null : tagOf(await bytesAt(context, place));
}

async function bytesAt(context: ToolContext, place: Place): Promise<Uint8Array> {
  return await withFile(context, place, async (handle, { size }) => {
    if (size <= maxManualWriteBytes) return await handle.readFile({ signal: context.signal });
    throw new AppError(
      "invalid_parameter",
      `"${place.path}" has ${size} bytes; at most ${maxManualWriteBytes} are handled.`,
    );
  });
}

function textIn(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function changedThere(path: string, hunk: number): AppError {
  return new AppError("conflict", `"${path}" has changed since where hunk ${hunk} is; nothing was taken back.`, {
    suggestion: "Look at the file as it is now, and change it by hand.",
    message_zh: `“${path}”中第 ${hunk} 处改动所在的位置此后又有变化；未撤回任何内容。`,
  });
}
