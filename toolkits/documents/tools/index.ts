import { editCurrentEditorDocument } from "./edit-current-editor-document.ts";

/** Tools for documents beside those for files. */
export const documentTools = { edit_current_editor_document: editCurrentEditorDocument };
