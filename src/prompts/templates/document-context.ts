import { defineTemplate } from "../template.ts";

/** The editor's state: facts of the document profile. */
export const documentContext = defineTemplate({
  name: "document_context",
  title: { en: "Editor context", zh: "编辑器上下文" },
  description: "What is open and selected in the editor.",
  optional: ["file_path", "selected_text", "preview", "workspace_path", "editor_state", "unsaved_changes"],
  content: [
    "Current document: {file_path}",
    "Its beginning: {preview}",
    "Selected text: {selected_text}",
    "Workspace: {workspace_path}",
    "Editor: {editor_state}",
    "Changes that are not saved yet: {unsaved_changes}",
  ].join("\n"),
});
