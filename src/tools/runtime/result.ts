import { userSentence } from "@millrace/engine/errors/error-texts";
import { toolAdvice } from "@millrace/engine/errors/error-strategy";
import { type ErrorCode, errorMessage, isAppError, systemCode } from "@millrace/engine/errors/errors";
import type { Language } from "@millrace/engine/language";
import type { DiffLine } from "../undo/line-diff.ts";

/** The result of every tool. A failure sets `errorType`; `content` is for the model. */
export interface ToolResult {
  success: boolean;
  code: string;
  /** English; `message_zh` is the Chinese text. */
  message: string;
  message_zh?: string | undefined;
  data?: unknown;
  content?: string;
  errorType?: ErrorCode;
  /** What to do about a failure, one sentence. */
  suggestion?: string | undefined;
  /** Measured values, for example of a simulation; the loop checks whether they improve. */
  metrics?: Record<string, number>;
  /** State fields to set: `error_context`, `task_plan`, and those of the tool's toolkit. */
  session?: Readonly<Record<string, unknown>>;
  /** The new text of the client's editor document; emitted to the client. */
  document?: DocumentEdit;
  /** Lines of a file shown to the model. A file shown in full may be overwritten. */
  seen?: SeenFile;
  /** The recorded workspace change, set by the runtime. */
  operation?: OperationNote;
}

/** Lines of a file shown or written by a result; `total` is `null` if unknown; `version` identifies the content. */
export interface SeenFile {
  path: string;
  version: string;
  from: number;
  to: number;
  total: number | null;
}

/** A change of the client's editor document: the whole new text, and the changed lines with context. */
export interface DocumentEdit {
  path: string;
  instruction: string | null;
  content: string;
  lines_added: number;
  lines_removed: number;
  first_line: number | null;
  diff: DiffLine[];
  /** Number of diff lines left out. */
  more: number;
}

/** A recorded workspace change in results and events. Whether it can be undone is asked elsewhere. */
export interface OperationNote {
  operation_id: string;
  /** `edit`: the client's editor document, not a file. */
  type: "create" | "modify" | "delete" | "move" | "edit";
  path: string;
  lines_added: number | null;
  lines_removed: number | null;
  first_line: number | null;
}

/** Creates a success; `content` is for the model, default the message. */
export function success(
  message: string,
  more: { content?: string; data?: unknown; message_zh?: string } = {},
): ToolResult {
  return { success: true, code: "OK", message, content: message, ...more };
}

/** Creates a failure: `message` says what was expected and what came, `suggestion` what to do. */
export function failure(errorType: ErrorCode, message: string, suggestion?: string, data?: unknown): ToolResult {
  return {
    success: false,
    code: errorType.toUpperCase(),
    message,
    content: suggestion === undefined ? message : `${message} ${suggestion}`,
    errorType,
    suggestion,
    data,
  };
}

/** The result's message for the user, in their language. */
export function userMessageOf(
  { success: isSuccess, message, message_zh, errorType }: ToolResult,
  language: Language,
): string {
  if (language === "en") return message;
  if (isSuccess || errorType === undefined) return message_zh ?? message;
  return message_zh ?? userSentence(errorType, language);
}

/** The result's text for the model: its content, or the message with its data. */
export function resultText({ success: isSuccess, content, data, message, errorType }: ToolResult): string {
  const text = content ?? (data === undefined ? message : `${message}\n${JSON.stringify(data)}`);
  return isSuccess ? text : `Error (${errorType ?? "execution_failed"}): ${text}`;
}

/** Texts for system error codes; the original messages would reveal machine paths. */
const systemFailures: Record<string, [ErrorCode, string]> = {
  ENOENT: ["not_found", "A file or folder of that name is not there (any more)."],
  ENOTDIR: ["not_found", "A part of the path is a file, not a folder."],
  EACCES: ["permission", "The operating system does not allow it."],
  EPERM: ["permission", "The operating system does not allow it."],
  EROFS: ["permission", "The workspace is on a read-only file system."],
  ELOOP: ["permission", "Refused: the path became a link, or its links go round in a circle."],
  ENXIO: ["permission", "Refused: this is not a regular file."],
  EEXIST: ["conflict", "Something of that name exists already."],
  ENOTEMPTY: ["conflict", "The folder is not empty."],
  EBUSY: ["conflict", "The file or folder is in use."],
  EXDEV: ["execution_failed", "The two places are on different file systems."],
  EISDIR: ["invalid_parameter", "A file is expected, this is a folder."],
  ENAMETOOLONG: ["invalid_parameter", "The path is too long for the file system."],
  EINVAL: ["invalid_parameter", "The file system does not accept this path."],
  EFBIG: ["too_large", "The file is too large for the file system."],
  ENOSPC: ["storage_full", "The disk is full."],
  EDQUOT: ["storage_full", "The disk quota is used up."],
  EIO: ["storage_io", "The disk reported an error."],
  EMFILE: ["execution_failed", "Too many files are open at the moment."],
  ETIMEDOUT: ["timeout", "The connection timed out."],
  ECONNREFUSED: ["network", "The connection was refused."],
  ECONNRESET: ["network", "The connection was interrupted."],
  ENOTFOUND: ["network", "The host name was not found."],
};

/** The result for an `AppError` or a known system error code; `undefined` for anything else. */
export function expectedFailure(error: unknown): ToolResult | undefined {
  if (isAppError(error)) {
    const { code, message, suggestion, message_zh } = error;
    return { ...failure(code, message, suggestion), ...(message_zh === undefined ? {} : { message_zh }) };
  }
  const code = systemCode(error);
  const known = systemFailures[code];
  return known && failure(known[0], `${known[1]} (${code})`, toolAdvice[known[0]]);
}

/** The result for any error; unexpected ones become `execution_failed` with their message. */
export function toFailure(error: unknown): ToolResult {
  return expectedFailure(error) ?? failure("execution_failed", `The tool failed: ${errorMessage(error)}`);
}

/** The result when a tool that asks the user is run by hand. */
export function onlyInConversation(tool: string): ToolResult {
  return failure(
    "unavailable_tool_mode",
    `${tool} puts a question to the user, which only a turn of the conversation can do.`,
    "Ask the user directly.",
  );
}
