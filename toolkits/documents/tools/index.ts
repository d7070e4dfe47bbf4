import { editCurrentEditorDocument } from "./edit-current-editor-document.ts";
import { readEditorDocument } from "./read-editor-document.ts";

/** Tools for documents beside those for files. */
export const documentTools = {
  read_editor_document: readEditorDocument,
  edit_current_editor_document: editCurrentEditorDocument,
};
