import { editCurrentEditorDocument } from "./edit-current-editor-document.ts";
import { readEditorDocument } from "./read-editor-document.ts";

/** Document tools, in addition to the file tools. */
export const documentTools = {
  read_editor_document: readEditorDocument,
  edit_current_editor_document: editCurrentEditorDocument,
};
