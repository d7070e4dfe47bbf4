import type { Intent } from "../../state.ts";

/** Chinese and English patterns that classify requests. A pattern that begins with `^` matches whole messages. */

/** Greetings, thanks and confirmations. */
export const pleasantries =
  /^\s*(?:(?:hi|hello|hey|good (?:morning|evening|afternoon)|thanks?|thank you|thx|ok(?:ay)?|great|perfect|awesome|nice(?: work)?|cool|well done|good job|got it|i see|bye|goodbye)(?:[\s,!]+(?:there|you|so much|a lot|very much|all|thanks?|thank you|for (?:your|the) help))*|(?:你好|您好|谢谢|多谢|感谢|辛苦|再见|好的|太好|不错|很好|明白|知道|收到|厉害|没事)(?:[\s，,!！]*(?:啊|呀|你|您|了|啦|吧|谢谢|多谢|感谢))*)[\s!.,。！，~～]*$/iu;

/** The user cancels the request. */
export const dropsTheWork =
  /^\s*(?:(?:no|oh|ok|wait)[,\s]+)?(?:never ?mind|forget (?:it|about it|that)|cancel (?:it|that|this)|drop (?:it|that)|don't bother|leave it)[\s!.]*$|^\s*(?:算了|不用了|别做了|取消吧?|不需要了|先不做了)[\s!.。！]*$/iu;

/** The user explicitly asks for a plan first, or for work step by step. */
export const asksForPlan =
  /\b(?:plan (?:it|this|that|everything|the (?:work|steps|task))(?: out)? first|(?:first|start by|begin by|before you (?:start|begin|do anything),?)[ ,]*(?:please )?(?:mak(?:e|ing)|writ(?:e|ing)|draw(?:ing)? up|giv(?:e|ing) me|show(?:ing)? me|com(?:e|ing) up with) (?:me )?an? (?:\w+ )?plan|(?:make|write|draw up) an? (?:\w+ )?plan (?:first|and then|before)|(?:start|begin) with an? (?:\w+ )?plan|(?:work|do it|do this|go) (?:through it )?(?:according to|along|by) a plan|break (?:it|this|that|the (?:task|work)) (?:down )?(?:in)?to steps)\b|先(?:做|写|列|定|给|制定|拟)(?:出|好|一下)?(?:一?[个份])?(?:\p{Script=Han}{0,4})?(?:计划|步骤)|(?:拆分?|分解|分)成(?:几个|若干|多个)?步骤?|制定(?:一?[个份])?(?:\p{Script=Han}{0,4})?计划(?:再|然后|之后|并)|按计划(?:一步步|逐步|执行|来做)/iu;

/** One kind of work each; a message that matches two wants more than one thing. */
export const workVerbs = [
  /\bcompar(?:e|ing)\b|比较|对比/iu,
  /\bsummar(?:y|i[sz]e|i[sz]ing)\b|总结|概述/iu,
  /\btranslat(?:e|ing)\b|翻译/iu,
  /\banaly[sz](?:e|ing)\b|分析/iu,
  /\b(?:read|open|show|look at)\b|读取|阅读|查看|打开|读一下/iu,
  /\b(?:create|make|write|add)\b|创建|新建|写入|添加/iu,
  /\b(?:delete|remove|erase)\b|删除|删掉|移除/iu,
  /\b(?:move|rename|copy)\b|移动|重命名|改名|复制/iu,
  /\b(?:search|find|grep|look for)\b|搜索|查找|寻找|找到/iu,
  /\b(?:list|what files)\b|列出|有哪些文件/iu,
  /\b(?:update|change|edit|replace|append|modify)\b|更新|修改|编辑|替换/iu,
  /\b(?:simulate|simulation)\b|仿真|模拟/iu,
  /\b(?:schedule|remind)\b|安排|提醒/iu,
];

/** Whole messages without an object: a verb and next to nothing else. */
export const vagueRequests = [
  /^\s*(?:(?:please|pls|hey|hi)[,\s]+)?(?:(?:can|could|would|will) you (?:please )?|help me (?:to |with )?|i(?:'d like| need| want)(?: you)? (?:to |for you to )?)?(?:do|make|write|create|draft|prepare|fix|improve|optimi[sz]e|change|update|handle|process|analy[sz]e|summari[sz]e|research|translate|convert|refactor|finish|design|build)?(?:\s*(?:me|some|an?|a bit of|up|on))*\s*(?:something|anything|stuff|things?|it|this|that|them|research|work|writing|report|analysis|article|presentation|document|summary)?(?: (?:better|nicer|for me|please))*[\s.!?]*$/iu,
  /^\s*(?:(?:请|麻烦|帮忙|帮我|给我|替我|我想|我要|我需要|你能|能不能|可以|来)+)?(?:做|写|搞|弄|处理|优化|修改|改|改进|研究|分析|总结|翻译|整理|完善|设计|生成|准备)(?:一下|一个|一份|一篇|个|份|篇|些|点)?(?:研究|调研|报告|分析|东西|文章|文档|总结|方案|事情|事|它|这个|那个|这|那)?(?:好一点|更好)?[\s.!?。！？吗吧呢]*$/u,
];

/** Exceptions to `vagueRequests`: a call for help, a bare confirmation, an empty message. */
export const bareTopics =
  /^\s*(?:help|help me|please|hey|hi|it|this|that|them|me|research|work|report|analysis|i (?:need|want)(?: you)?)?[\s.!?]*$/iu;

/** How far the work should go; the first match counts. */
export const extents: { extent: Intent["extent"]; words: RegExp }[] = [
  {
    extent: "partial",
    words:
      /\b(?:only|just|the first|part of|some of|top \d+|at least|for now)\b|只|部分|一些|前\s*[\d一二三四五六七八九十]+|先看/iu,
  },
  {
    extent: "full",
    words: /\b(?:all|every|everything|whole|entire|complete(?:ly)?|full(?:y)?)\b|所有|全部|整个|每个|完整|彻底/iu,
  },
  {
    extent: "view",
    words: /\b(?:look at|show|list|view|see|what(?:'s| is) in|glance)\b|看看|查看|看一下|显示|列出/iu,
  },
];

/** What matters most, in the user's own words. */
export const priority =
  /(?:\bmost importantly\b|\babove all\b|\bespecially\b|\bfirst of all\b|\bwhat matters most is\b|尤其是?|特别是|重点是?|优先|最重要的?是?)[,:，：\s]*([^,.;，。；\n]{2,80})/giu;

/** Needs that a request implies. */
export const impliedNeeds: { when: RegExp; need: string }[] = [
  {
    when: /\b(?:update|change|edit|replace|append|modify|fix|improve)\b|更新|修改|编辑|替换|改进|优化/iu,
    need: "read the present text before changing it, and keep what was not spoken of",
  },
  { when: /\bcompar(?:e|ing)\b|比较|对比/iu, need: "read everything that is compared" },
  { when: /\btranslat(?:e|ing)\b|翻译/iu, need: "keep the form of the original" },
];
