import type { Language } from "@millrace/engine/language";

/** What is said of lines, in Chinese; `$1` is the name in it. Models read the English. */
const chinese: readonly (readonly [english: RegExp, chinese: string])[] = [
  [/^a quotation mark is not closed$/u, "引号没有闭合"],
  [/^\.ends without a \.subckt before it$/u, ".ends 之前没有 .subckt"],
  [/^\.subckt (\S+) has no \.ends$/u, "子电路 $1 缺少 .ends"],
  [/^the name of the node (\S+) begins with a digit$/u, "节点名 $1 以数字开头"],
  [/^only one element is connected to the node (\S+)$/u, "节点 $1 只连接了一个元件"],
  [/^the sub-circuit (\S+) is not used in this file$/u, "子电路 $1 在此文件中没有使用"],
  [/^the first line is the title, not a part$/u, "第一行是标题，不是元件"],
  [/^the file holds no element of a circuit$/u, "文件中没有任何电路元件"],
  [/^refused, "?([^",\s]+).*$/u, "不能仿真这一行：$1"],
  [/^"([^"]+)" is no analysis that can be run\.$/u, "无法执行的分析：$1"],
  [/^"([^"]+)" is not of the form .*$/u, "分析的写法不对：$1"],
  [/^"([^"]+)" asks for .*$/u, "分析的点数过多：$1"],
];

/** A problem of a line in the reader's language; English where there is no other. */
export function problemText(message: string, language: Language): string {
  if (language === "en") return message;
  const [english, text] = chinese.find(([words]) => words.test(message)) ?? [];
  return english === undefined || text === undefined ? message : message.replace(english, text);
}
