import type { Language } from "@millrace/engine/language";
import { say } from "./text.ts";

const howToChoose = "MILLRACE_MODEL=openai:gpt-4o-mini";

interface Topic {
  words: RegExp;
  english: string;
  chinese: string;
}

const capabilities =
  "list, read, search, create, update, copy, move, rename and delete files and folders, keep a task list, and run simulations where the tool is there";
const chineseCapabilities =
  "列出、读取、搜索、创建、更新、复制、移动、重命名和删除文件与文件夹，管理任务列表，以及在有工具时运行仿真";

const topics: Topic[] = [
  {
    words:
      /\bwho are you\b|\bwhat are you\b|\bwhich model\b|\bare you (?:an? )?(?:ai|human|real|gpt|bot)\b|你是谁|你是什么|什么模型/iu,
    english: `I am Millrace's offline model: a small rule-based stand-in, not a language model. I ${capabilities}. For real conversation choose a model, for example ${howToChoose}.`,
    chinese: `我是 Millrace 的离线模型：一个基于规则的替身，不是语言模型。我可以${chineseCapabilities}。如需真正的对话，请选择一个模型，例如 ${howToChoose}。`,
  },
  {
    words:
      /\bwhat can you do\b|^\s*help\b|\bhow (?:do|can) (?:i|you)\b.*\b(?:use|help)\b|你能做什么|你会什么|帮助|怎么用/iu,
    english: `I am a rule-based stand-in that can ${capabilities}. Try “list the files”, “read notes.md and write a summary to summary.md”, or “create a.txt with hello”.`,
    chinese: `我是基于规则的替身，可以${chineseCapabilities}。试试“列出文件”、“读取 notes.md 并把总结写入 summary.md”或“创建 a.txt，内容为 你好”。`,
  },
  {
    words: /\b(?:thanks?|thank you|thx|cheers)\b|谢谢|多谢|感谢/iu,
    english: "You are welcome.",
    chinese: "不客气。",
  },
  {
    words: /^\s*(?:hi|hello|hey|good (?:morning|afternoon|evening))\b|^\s*(?:你好|您好|嗨|早上好|下午好|晚上好)/iu,
    english: "Hello! Tell me what to do with the files or tasks of the workspace.",
    chinese: "你好！请告诉我要对工作区的文件或任务做什么。",
  },
  {
    words: /^\s*(?:bye|goodbye|see you)\b|再见|拜拜/iu,
    english: "Goodbye.",
    chinese: "再见。",
  },
  {
    words: /^\s*(?:ok(?:ay)?|great|good|fine|yes|no|sure)[\s.!]*$|^\s*(?:好的?|行|可以|不用了)[\s。！]*$/iu,
    english: "All right. Tell me when there is something to do.",
    chinese: "好的，有需要请告诉我。",
  },
];

/** The answer where there is nothing to do: small talk, or that the rules do not understand. */
export function smallTalk(request: string, hasTools: boolean, language: Language): string {
  const topic = topics.find((candidate) => candidate.words.test(request));
  if (topic !== undefined) return say(language, topic.english, topic.chinese);
  const noTools = hasTools ? "" : say(language, " No tools are at hand for this reply.", "此次回复没有可用的工具。");
  return say(
    language,
    `I did not understand this. I am a rule-based stand-in and only know plain requests about files, folders and tasks, such as “read notes.md”.${noTools} For a real model set ${howToChoose} and OPENAI_API_KEY.`,
    `我没有理解这个请求。我是基于规则的替身，只懂得关于文件、文件夹和任务的简单请求，例如“读取 notes.md”。${noTools}如需真正的模型，请设置 ${howToChoose} 和 OPENAI_API_KEY。`,
  );
}
