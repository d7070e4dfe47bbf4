import type { Route } from "../state.ts";

/** Inputs longer than this are broken into steps (DECOMP-01). Characters. */
const longRequest = 300;

const pleasantries =
  /^\s*(?:(?:hi|hello|hey|good (?:morning|evening|afternoon)|thanks?|thank you|thx|ok(?:ay)?|great|bye|goodbye)(?:\s+(?:there|you|so much|a lot|very much|all|for (?:your|the) help))*|你好|您好|谢谢|多谢|感谢|再见|好的)[\s!.,。！，~]*$/iu;

/** Several of these in one message are several goals (DECOMP-01, table 18.10, with English equivalents). */
const goalVerbs = [
  /\bcompar(?:e|ing)\b|比较|对比/iu,
  /\bsummar(?:y|i[sz]e|i[sz]ing)\b|总结|概述/iu,
  /\bwrite (?:it |them |this |that )?(?:up|down|as|into)\b|写成/iu,
  /\bsave\b|保存/iu,
  /\btranslat(?:e|ing)\b|翻译/iu,
  /\banaly[sz](?:e|ing)\b|分析/iu,
];

/** Words for one kind of tool each; two kinds in one message need more than one tool. */
const toolVerbs = [
  /\b(?:read|open|show|look at)\b|读取|阅读|查看|打开|读一下/iu,
  /\b(?:create|make|write|add)\b|创建|新建|写入|添加/iu,
  /\b(?:delete|remove|erase)\b|删除|删掉|移除/iu,
  /\b(?:move|rename|copy)\b|移动|重命名|改名|复制/iu,
  /\b(?:search|find|grep|look for)\b|搜索|查找|寻找/iu,
  /\b(?:list|what files)\b|列出|有哪些文件/iu,
  /\b(?:update|change|edit|replace|append)\b|更新|修改|编辑|替换/iu,
  /\b(?:simulate|simulation)\b|仿真|模拟/iu,
  /\b(?:schedule|remind)\b|安排|提醒/iu,
];

/** Words that join one task to the next. */
const joining = /\b(?:and then|then|after that|afterwards|finally|first)\b|然后|接着|之后|最后|首先|并且|再/iu;

/** A route and why it was chosen. */
export interface RuledRoute {
  route: Route;
  reason: string;
}

/**
 * Where a message goes by rules alone, or `undefined` when only a model can tell: when the message joins tasks in words
 * that the rules do not know. Pure; checked by table.
 */
export function routeByRules(text: string): RuledRoute | undefined {
  if (pleasantries.test(text)) return { route: "reply", reason: "greeting or thanks" };
  if (text.length > longRequest) return { route: "plan", reason: `longer than ${longRequest} characters` };
  const goals = goalVerbs.filter((verb) => verb.test(text)).length;
  if (goals >= 2) return { route: "plan", reason: "several goals in one message" };
  const tools = toolVerbs.filter((verb) => verb.test(text)).length;
  if (tools + goals >= 2 && (joining.test(text) || tools >= 2))
    return { route: "plan", reason: "needs more than one tool" };
  if (tools + goals === 0 && joining.test(text)) return undefined;
  return { route: "free_work", reason: "one request" };
}
