import { fileTools } from "../tools/index.ts";
import { defineToolkit } from "./toolkit.ts";

/** Work on the files and folders of the workspace. */
export const files = defineToolkit({
  name: "files",
  title: { en: "Files", zh: "文件" },
  description: {
    en: "Reads, searches, writes, moves and deletes the files and folders of the workspace.",
    zh: "读取、搜索、写入、移动和删除工作区中的文件与文件夹。",
  },
  tools: Object.values(fileTools),
  enabled: "default",
});
