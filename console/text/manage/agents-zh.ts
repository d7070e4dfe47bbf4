import type { Words } from "../words.ts";
import type { agentsEn } from "./agents-en.ts";

/** The words of the page of agents and rules, in Chinese. */
export const agentsZh: Words<typeof agentsEn> = {
  agents: {
    title: "智能体与规则",
    parts: "智能体或规则",
    agents: "智能体",
    rules: "规则",
    choose: "选择一个智能体，查看它的提示词",
    chooseHint: "助手会把工作交给智能体，每个智能体有自己的工具和提示词。",
    chooseRule: "选择一条规则来阅读",
    chooseRuleHint: "助手会遵守规则：始终遵守，或在涉及相应文件时遵守。",
    noAgents: "尚无智能体",
    noAgentsHint: "在工作区的 {{path}} 中添加一个 Markdown 文件即可创建。",
    noRules: "尚无规则",
    noRulesHint: "在工作区的 {{path}} 中添加一个 Markdown 文件即可创建。",
    gone: "没有此智能体",
    ruleGone: "没有此规则",
    goneHint: "它的文件已被删除或无法使用，或地址有误。",
    openFile: "打开文件",
    tools: "工具",
    allTools: "调用者的全部工具",
    noTools: "无",
    model: "模型",
    callersModel: "调用者的模型",
    knowsRules: "是否获知规则",
    prompt: "提示词",
    changeHint: "修改文件后，从下一轮对话起生效。",
    scope: { project: "属于此工作区", user: "属于您的主目录" },
    chip: { always: "始终", for_files: "按文件", on_request: "按需" },
    when: { always: "始终", for_files: "涉及匹配的文件时", on_request: "助手自行读取时" },
    holds: "何时生效",
    globs: "文件",
    from: "来源",
    content: "内容",
  },
};
