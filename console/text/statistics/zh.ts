import type { Words } from "../words.ts";
import type { statisticsEn } from "./en.ts";

/** The words of the statistics of models, in Chinese. */
export const statisticsZh: Words<typeof statisticsEn> = {
  statistics: {
    title: "模型统计",
    choices: "日期与模型",
    days: "天数",
    lastDays: "最近 {{count}} 天",
    span: "自定日期",
    from: "第一天",
    to: "最后一天",
    model: "模型",
    allModels: "全部模型",
    unnamed: "未命名的模型",
    save: "另存为 CSV",
    empty: "这些天没有调用过模型",
    emptyHint: "此后对模型的调用会按天统计在这里。",
    emptyOf: "{{name}} 没有被调用。可以换其他日期，或查看全部模型。",
    measures: "图表显示的内容",
    requests: "调用",
    tokens: "词元",
    tokensIn: "输入词元",
    tokensOut: "输出词元",
    cached: "其中缓存 {{count}}",
    cost: "费用",
    failed: "错误",
    firstWords: "首字用时",
    duration: "总用时",
    chart: "每天的{{measure}}",
    bar: "{{day}}：{{value}}",
    byModel: "按模型",
    byDay: "按天",
    day: "日期",
    more: "更多日期",
    hint: "日期按 UTC 计，用时为平均值。每次失败的尝试都计为一个错误。价格未知的模型在这里不计费用。",
  },
};
