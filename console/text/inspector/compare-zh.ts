import type { Words } from "../words.ts";
import type { compareEn } from "./compare-en.ts";

/** The words of the page that compares two runs, in Chinese. */
export const compareZh: Words<typeof compareEn> = {
  compare: {
    title: "比较两次运行",
    left: "第一次运行",
    right: "第二次运行",
    run: "开始于",
    more: "增减",
    none: "选择两次运行",
    noneHint: "可以在上方选择，也可以从一次运行的菜单进入，或在运行列表中勾选两次运行。",
    gone: "其中一次运行已不存在",
    facts: "结果与用量",
    places: "执行过程",
    first: "首个差异",
    toFirst: "转到首个差异",
    same: "两次运行逐步相同。",
    difference: {
      left: "仅第一次运行",
      right: "仅第二次运行",
      status: "结果不同",
      model: "模型不同",
      arguments: "参数不同",
      answer: "回答不同",
    },
    further_one: "还有 {{count}} 步",
    further_other: "还有 {{count}} 步",
    read: "比较每次运行前 {{count}} 次调用的参数和回答。",
    sameText: "两者相同",
    onlyLeft: "仅第一次运行有",
    onlyRight: "仅第二次运行有",
    states: "结束时的状态",
    sameStates: "两次运行留下的状态相同。",
    with: "与另一次运行比较",
    both: "比较",
  },
};
