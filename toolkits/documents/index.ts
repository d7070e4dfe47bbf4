import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { documentFormats } from "./formats/file-formats.ts";
import { documentCompletion } from "./progress/completion.ts";
import { fileMove } from "./prompts/file-move.ts";
import { fileSummary } from "./prompts/file-summary.ts";
import { folderCheck } from "./prompts/folder-check.ts";
import { identityDocument } from "./prompts/identity-document.ts";
import { documentTools } from "./tools/index.ts";

/**
 * Work on documents: formats for the file tools, the document in the editor, and checks that the assistant finishes its
 * work.
 */
export const documents = defineToolkit({
  name: "documents",
  title: { en: "Documents", zh: "文档" },
  description: {
    en: "Changes the document that is open in the editor; with the toolkit of files, reads and makes Word documents and more.",
    zh: "修改编辑器中打开的文档；配合文件工具包，可读取和生成 Word 等文档。",
  },
  tools: Object.values(documentTools),
  templates: [fileMove, fileSummary, folderCheck],
  identity: {
    profile: "document",
    template: identityDocument,
    completion: documentCompletion,
    cutsHistoryEarly: true,
  },
  fileFormats: documentFormats,
  enabled: "default",
});
