import type { Language } from "@millrace/engine/language";
import { say } from "./text.ts";

/** Sentences of a text that a summary quotes, and headings it names. */
const quotedSentences = 3;
const namedHeadings = 5;

/** What a text is about, by rule: its size, its headings and its first sentences. The same text gives the same words. */
export function summarizeText(name: string, text: string, language: Language): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return say(language, `Summary of ${name}: the file is empty.`, `${name} 的摘要：文件为空。`);
  const headings = lines.flatMap((line) => /^#{1,6}\s+(.+)$/u.exec(line)?.[1]?.trim() ?? []).slice(0, namedHeadings);
  const prose = lines
    .filter((line) => !/^(?:#{1,6}\s|```|[-=*_]{3,}\s*$)/u.test(line))
    .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/u, "").trim());
  const sentences = prose.flatMap((line) => line.match(/[^.!?。！？]+(?:[.!?](?=\s|$)|[。！？]|[.!?])*/gu) ?? []);
  const points = sentences
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "")
    .slice(0, quotedSentences);
  const chinese = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  const words = (text.match(/[\p{L}\p{N}'’-]+/gu)?.length ?? 0) + (chinese > 0 ? chinese : 0);
  const parts = [
    say(
      language,
      `Summary of ${name} (${lines.length} lines, ${words} words):`,
      `${name} 的摘要（${lines.length} 行，约 ${words} 字）：`,
    ),
    ...(headings.length === 0
      ? []
      : [say(language, `Sections: ${headings.join(", ")}.`, `章节：${headings.join("、")}。`)]),
    ...points.map((point) => `- ${point}`),
  ];
  return parts.join("\n");
}
