import { documentTools } from "../tools/index.ts";
import { defineToolkit } from "./toolkit.ts";

/** Work on documents, beside the toolkit of files, which reads and makes them (DOC). */
export const documents = defineToolkit({
  name: "documents",
  title: { en: "Documents", zh: "文档" },
  description: {
    en: "Changes the document that is open in the editor; with the toolkit of files, reads and makes Word documents and more.",
    zh: "修改编辑器中打开的文档；配合文件工具包，可读取和生成 Word 等文档。",
  },
  tools: Object.values(documentTools),
  identity: { profile: "document" },
  enabled: "default",
});
