import type { Language } from "@millrace/engine/language";
import { say } from "./text.ts";

const howToChoose = "MILLRACE_MODEL=openai:gpt-4o-mini";

/** Small talk by opening words, with the answer in both languages. */
const topics: [words: RegExp, english: string, chinese: string][] = [
  [
    /\b(?:who|what) are you\b|\bwhich model\b|\bare you (?:an? )?(?:ai|human|real|bot)\b|\bwhat can you do\b|^\s*help\b|你是谁|你是什么|什么模型|你能做什么|你会什么|帮助|怎么用/iu,
    `I am Millrace's offline model: a small rule-based stand-in, no language model. I list, read, summarize, search, write, move and delete files and folders, keep a task list and run simulations, where the tools are there. Try “list the files”, “read notes.md and write a summary to summary.md” or “create a.txt with hello”. For real conversation choose a model, for example ${howToChoose}.`,
    `我是 Millrace 的离线模型：一个基于规则的替身，不是语言模型。在有工具时，我可以列出、读取、总结、搜索、写入、移动和删除文件与文件夹，管理任务列表，运行仿真。试试“列出文件”、“读取 notes.md 并把总结写入 summary.md”或“创建 a.txt，内容为 你好”。如需真正的对话，请选择一个模型，例如 ${howToChoose}。`,
  ],
  [/\b(?:thanks?|thank you|thx|cheers)\b|谢谢|多谢|感谢/iu, "You are welcome.", "不客气。"],
  [
    /^\s*(?:hi|hello|hey|good (?:morning|afternoon|evening))\b|^\s*(?:你好|您好|嗨|早上好|下午好|晚上好)/iu,
    "Hello! Tell me what to do with the files or tasks of the workspace.",
    "你好！请告诉我要对工作区的文件或任务做什么。",
  ],
  [
    /^\s*(?:ok(?:ay)?|great|good|fine|yes|no|sure|bye|goodbye)[\s.!]*$|^\s*(?:好的?|行|可以|不用了|再见)[\s。！]*$/iu,
    "All right. Tell me when there is something to do.",
    "好的，有需要请告诉我。",
  ],
];

/** The beginning of the answer if no rule matches. */
export const notUnderstood: Readonly<Record<Language, string>> = {
  en: "I did not understand this.",
  zh: "我没有理解这个请求。",
};

/** The answer if there is nothing to do: small talk, or that the request was not understood. */
export function smallTalk(request: string, language: Language): string {
  const topic = topics.find(([words]) => words.test(request));
  if (topic !== undefined) return say(language, topic[1], topic[2]);
  return say(
    language,
    `${notUnderstood.en} I am a rule-based stand-in and only know plain requests about files, folders and tasks, such as “read notes.md”. For a real model set ${howToChoose} and OPENAI_API_KEY.`,
    `${notUnderstood.zh}我是基于规则的替身，只懂得关于文件、文件夹和任务的简单请求，例如“读取 notes.md”。如需真正的模型，请设置 ${howToChoose} 和 OPENAI_API_KEY。`,
  );
}
