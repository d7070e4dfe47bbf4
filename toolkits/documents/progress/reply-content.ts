const countWords: Readonly<Record<string, number>> = {
  both: 2,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  两: 2,
  二: 2,
  三: 3,
  四: 4,
  五: 5,
  六: 6,
  七: 7,
  八: 8,
  九: 9,
  十: 10,
};

/** Whether a reply mentions what it did not do: by name, by number, or as the rest. */
export function accountsFor(reply: string, remaining: readonly string[]): boolean {
  if (remaining.every((path) => namesPath(reply, path))) return true;
  return (
    numbersIn(reply).has(remaining.length) ||
    /\b(?:the (?:rest|others?)|all (?:the )?others?)\b|其余|其他|剩下/iu.test(reply)
  );
}

/** Whether a reply refers to a text: at least two of its words, or a third if it has fewer than six. */
export function sharesWords(reply: string, text: string): boolean {
  const words = wordsOf(text);
  const replyWords = wordsOf(reply);
  const shared = [...words].filter((word) => replyWords.has(word)).length;
  return words.size === 0 || shared >= Math.min(2, Math.ceil(words.size / 3));
}

function numbersIn(reply: string): Set<number> {
  const numbers = new Set([...reply.matchAll(/\d+/gu)].map(([digits]) => Number(digits)));
  for (const [word, number] of Object.entries(countWords)) {
    const isThere = /[a-z]/u.test(word) ? new RegExp(`\\b${word}\\b`, "iu").test(reply) : reply.includes(word);
    if (isThere) numbers.add(number);
  }
  return numbers;
}

function namesPath(reply: string, path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return reply.toLowerCase().includes(name.toLowerCase());
}

/** Words of four or more letters, numbers, and pairs of Chinese characters: common to texts about the same subject. */
function wordsOf(text: string): Set<string> {
  const words = new Set(text.toLowerCase().match(/[\p{Script=Latin}]{4,}|\d+/gu) ?? []);
  for (const [run] of text.matchAll(/\p{Script=Han}{2,}/gu)) {
    for (let at = 0; at + 2 <= run.length; at += 1) words.add(run.slice(at, at + 2));
  }
  return words;
}
