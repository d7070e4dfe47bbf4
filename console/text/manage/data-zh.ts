import type { Words } from "../words.ts";
import type { dataEn } from "./data-en.ts";

/** The words of the pages of the store and of schedules, in Chinese. */
export const dataZh: Words<typeof dataEn> = {
  store: {
    title: "存储",
    namespaces: "命名空间",
    all: "全部",
    empty: "尚无内容",
    open: "{{name}} 之下的内容",
    choose: "选择一个命名空间，查看其内容",
    chooseHint: "图和客户端在这里保存比对话更长久的数据。",
    add: "新建条目",
    search: "搜索这些条目",
    nothing: "此处没有内容",
    none: "没有找到“{{query}}”",
    more: "更多条目",
    select: "选择 {{key}}",
    delete: "永久删除",
    deleteOne: "删除“{{key}}”",
    deleteSome_one: "删除 {{count}} 个条目",
    deleteSome_other: "删除 {{count}} 个条目",
    deleteHint: "此操作无法撤销，之后读取它将一无所得。",
    gone: "没有此条目",
    goneHint: "它已被删除，或已到期。",
    changed: "修改于 {{time}}",
    namespace: "命名空间（标签之间用点分隔）",
    key: "键",
    value: "值",
    noObject: "值必须是一个对象：{ … }",
    saved: "条目已保存。",
    saveHint: "在此保存的内容会一直保留到被删除为止（即使原先有期限），其中的文本均可搜索。",
  },
};
