/** Words that mean the same, each group in a place of its own. */
const meanings = [
  ["password", "passwords", "secret", "credential", "credentials", "密码"],
  ["check", "checked", "checks", "verify", "verifies", "compare", "检查"],
  ["invoice", "invoices", "bill", "bills", "账单"],
  ["send", "sent", "mail", "mails", "deliver"],
  ["cat", "cats", "kitten", "kittens"],
];

/** A text as a vector: how often each meaning is named, and a last number so that no text is without direction. */
export function wordVector(text: string): number[] {
  const words = text.toLowerCase().match(/\p{Script=Han}{2}|[a-z]+/gu) ?? [];
  const counts = meanings.map((group) => words.filter((word) => group.includes(word)).length);
  return [...counts, 0.05];
}
