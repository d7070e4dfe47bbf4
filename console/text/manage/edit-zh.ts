import type { Words } from "../words.ts";
import type { editEn } from "./edit-en.ts";

/** The words of places where texts are written and saved, in Chinese. */
export const editZh: Words<typeof editEn> = {
  edit: {
    changedMeanwhile: "在您编辑期间，它已在别处被修改。您写的内容仍在此处。",
    goneMeanwhile: "在您编辑期间，它已在别处被删除。您写的内容仍在此处。",
    bothTexts: "− 为现有内容，+ 为您写的内容：",
    sameTexts: "现有内容与您写的相同。",
    saveOver: "用我的内容覆盖",
    takeTheirs: "采用现有内容",
    discardMine: "放弃我的内容",
    unsavedHint: "您的修改尚未保存，放弃后无法恢复。",
    edit: "编辑",
    close: "结束编辑",
    saved: "已保存",
    delete: "删除",
    text: "文本：{{name}}",
    tooLarge: "文件过大，无法在此编辑。",
  },
};
