import { attachments, attachmentsText } from "../prompts/templates/attachments.ts";
import type { EditorDocument, UserReference } from "../user-context.ts";
import { documentContext } from "../prompts/templates/document-context.ts";
import { documentReferences, referencesText } from "../prompts/templates/document-references.ts";
import type { ContextLayer } from "../prompts/injector.ts";
import type { Prompts } from "../prompts/prompts.ts";

/** Characters of a document preview. */
const previewLength = 1000;
/** Minimum bytes of a large file. */
const largeFile = 1024 * 1024;

/** A section: one heading, then its text. */
export function layer(name: string, title: string, text: string): ContextLayer {
  return { name, text: `## ${title}\n\n${text}` };
}

/** A fenced block. The fence is longer than any in the text, so no text can end it. */
export function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/u, "")}\n${fence}`;
}

/** The editor's state; `null` if empty. */
export function documentLayer(document: EditorDocument | undefined, prompts: Prompts): ContextLayer | null {
  if (document === undefined) return null;
  const { path, content, preview = content, selected_text, workspace_path, unsaved_changes } = document;
  const values = {
    file_path: path ?? null,
    preview: preview === undefined || preview === "" ? null : `\n${fenced("", smartPreview(preview))}`,
    selected_text: selected_text === undefined || selected_text === "" ? null : `\n${fenced("", selected_text)}`,
    workspace_path: workspace_path ?? null,
    editor_state: editorState(document),
    unsaved_changes: unsaved_changes === true ? "yes; the file on disk is older than what the user sees" : null,
  };
  if (Object.values(values).every((value) => value === null)) return null;
  return layer("document", "Editor", prompts.text(documentContext, values));
}

/** The user's references, in full and numbered; `null` if there are none. */
export function referencesLayer(references: readonly UserReference[], prompts: Prompts): ContextLayer | null {
  if (references.length === 0) return null;
  const listed = references.map(({ type, source, content }) => ({ kind: type, source, content: fenced("", content) }));
  return layer("references", "References", prompts.text(documentReferences, { references: referencesText(listed) }));
}

/** An attached file. `size` is in bytes, 0 if unknown. */
export interface AttachedFile {
  type: string;
  name: string;
  path: string;
  mime_type: string;
  size: number;
}

/** The user's attachments, for the model to read itself; `null` if there are none. */
export function attachmentsLayer(files: readonly AttachedFile[], prompts: Prompts): ContextLayer | null {
  if (files.length === 0) return null;
  return layer("attachments", "Attachments", prompts.text(attachments, { attachments: attachmentsText(files) }));
}

/** The beginning of a text, cut at a paragraph, line or word near the limit. */
export function smartPreview(text: string, length = previewLength): string {
  if (text.length <= length) return text;
  const begin = text.slice(0, length).replace(/\p{Cs}$/u, "");
  const end = ["\n\n", "\n", " "].map((mark) => begin.lastIndexOf(mark)).find((at) => at > length * 0.7);
  const shown = begin.slice(0, end ?? begin.length).trimEnd();
  return `${shown}\n[… ${text.length - shown.length} characters left out …]`;
}

function editorState({ editor }: EditorDocument): string | null {
  if (editor === undefined) return null;
  const { editable, type, size, saved } = editor;
  const parts = [
    size === undefined ? null : size >= largeFile ? `Large file (${(size / largeFile).toFixed(1)} MB)` : "Normal",
    type ?? null,
    editable === undefined ? null : editable ? "editable" : "read-only",
    saved === undefined ? null : saved ? "saved" : "not saved",
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(", ");
}
