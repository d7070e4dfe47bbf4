/** Words that identify tasks and replies, Chinese and English. */

/** Requests to check every folder. */
export const everyFolder = [
  /\b(?:all|every|each)\b[^.;\n]{0,24}\b(?:sub)?(?:folders?|director(?:y|ies))\b/iu,
  /\brecursive(?:ly)?\b|\b(?:folder|directory) by (?:folder|directory)\b/iu,
  /(?:所有|全部|每个|每一个|各个)[^。；\n]{0,6}(?:文件夹|目录)|递归|逐一检查|逐个检查/u,
];

/** Requests to sort files. */
export const sorting = /\b(?:sort|organi[sz]e|classify|categori[sz]e|group|arrange|file away)\b|分类|整理|归类|归档/iu;

/** Exceptions to "all": only the model can tell what is meant. */
export const exceptions =
  /\b(?:except|but not|other than|apart from|excluding|without|unless|only|don't|do not|never)\b|除了|除外|以外|之外|不包括|不要|别|除非|只/iu;

/** Requests for a text's content. */
export const wantsContent =
  /\bsummar(?:y|i[sz]e[sd]?|i[sz]ing)\b|\boverview\b|\bwhat (?:do|does|did) (?:it|this|that|they|the|these|those|[\w./-]+\.\w+)\b[^.?\n]{0,40}\bsay\b|\bwhat(?:'s| is| are) (?:in|inside) (?:it|this|that|them|the|[\w./-]+\.\w+)|写了什么|写的是什么|内容是什么|讲了什么|有什么内容|总结|概述|概括/iu;

/** Words that mark a reply as a summary. */
export const summaryMarkers =
  /\bsummar(?:y|i[sz]ed?)\b|\bin short\b|\ball in all\b|\bdone\b|\bfinished\b|\bcompleted?\b|\bprocessed\b|\bmain (?:content|points?|ideas?)\b|\bkey (?:information|points?|facts?|ideas?)\b|总结|总之|完成|已处理|处理完|主要内容|关键信息|要点/iu;

/** Reasons for not doing something. */
export const reasonsNotDone =
  /\b(?:not|cannot|can't|couldn't|could not|didn't|doesn't|isn't|wasn't|aren't|no longer|missing|skipped|kept|stays?|stayed|remains? (?:where|in place|untouched)|left (?:it|them|out|alone|where|as|in place|untouched)|already|refused|denied|locked|failed|unable)\b|没有|没找到|不存在|无法|未能|未移|不能|跳过|保留|留在|已经在|失败|拒绝|不移/iu;

/** Questions whether to continue requested work, which are no reason to stop. */
export const asksToGoOn =
  /\b(?:shall|should|may|can) i (?:continue|go on|proceed|move the (?:rest|others?|remaining))\b|\bdo you want me to (?:continue|go on|proceed)\b|(?:要|需要)(?:我)?继续|是否继续|继续吗/iu;
