import type { Language } from "@millrace/engine/language";
import { say } from "./text.ts";

/** A rule-based summary: size, headings and first sentences. Deterministic. */
export function summarizeText(name: string, text: string, language: Language): string {
  const all = text.trimEnd().split("\n");
  // A displayed formula is part of the surrounding sentence.
  const flowing = text.replaceAll(/\n+(\$[^$\n]+\$)\n+/gu, " $1 ");
  const lines = flowing.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return say(language, `Summary of ${name}: the file is empty.`, `${name} 的摘要：文件为空。`);
  const headings = lines.flatMap((line) => /^#{1,6}\s+(.+)$/u.exec(line)?.[1]?.trim() ?? []).slice(0, 5);
  const prose = lines
    .filter((line) => !/^(?:#{1,6}\s|```|\||[-=*_]{3,}\s*$)/u.test(line))
    .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/u, "").trim());
  const sentences = prose.flatMap((line) => line.match(/(?:[.!?](?!\s|$)|[^.!?。！？])+(?:[.!?]+|[。！？]+)?/gu) ?? []);
  const words = text.match(/\p{Script=Han}|[\p{L}\p{N}'’-]+/gu)?.length ?? 0;
  const title = say(
    language,
    `Summary of ${name} (${all.length} lines, ${words} words):`,
    `${name} 的摘要（${all.length} 行，约 ${words} 字）：`,
  );
  const sections = say(language, `Sections: ${headings.join(", ")}.`, `章节：${headings.join("、")}。`);
  const points = sentences.slice(0, 3).map((sentence) => `- ${sentence.trim()}`);
  return [title, ...(headings.length === 0 ? [] : [sections]), ...points].join("\n");
}
