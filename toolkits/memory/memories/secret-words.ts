import { AppError } from "@millrace/engine/errors/errors";
import { secretForms } from "@millrace/engine/config/api-keys";

/** Words that announce a secret, in English and Chinese. */
const announced =
  /(?:pass(?:word|wd|code|phrase)|\bpin(?:\s*code)?|\bsecret(?:\s*key)?|\b(?:access\s*)?token|api[\s_-]?key|private[\s_-]?key|\bcvv|recovery[\s_-]?code|密码|口令|密钥|私钥|令牌|验证码|卡号|身份证号?)(?:\s+(?:for|of|to)\s+.{1,60}?)?\s*(?:is|are|was|[:=：＝]|是|为|叫)\s*\S/iu;
/** A URL with name and password. */
const credentials = /:\/\/[^\s/:@]+:[^\s/@]+@/u;
/** A JWT, and cloud keys. */
const keys = /\beyJ[\w-]{10,}\.[\w-]{10,}\.|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}/u;
/** A long run of letters and digits, which does not occur in languages. */
const random = /[A-Za-z0-9+_=-]{24,}/gu;
/** An id, whose digits may look like a card number. */
const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/giu;
/** A card number, possibly in groups. */
const card = /\d(?:[ -]?\d){12,18}/gu;

/** Whether a text seems to contain a password, key or card number; `known` are the server's secrets. */
export function holdsSecret(text: string, known: readonly string[] = []): boolean {
  return (
    known.some((secret) => text.includes(secret)) ||
    secretForms.some(({ pattern }) => text.search(pattern) !== -1) ||
    [announced, credentials, keys].some((form) => form.test(text)) ||
    [...text.matchAll(random)].some(([run]) => /[a-z]/u.test(run) && /[A-Z]/u.test(run) && /\d.*\d.*\d/u.test(run)) ||
    [...text.replaceAll(uuid, "id").matchAll(card)].some(([digits]) => isCardNumber(digits.replaceAll(/\D/gu, "")))
  );
}

/** The refusal of a text with a secret; it does not repeat the text. */
export function secretRefused(): AppError {
  return new AppError("permission", "Not saved: the text looks like it holds a password, a key or a card number.", {
    suggestion: "Memories are sent to models in later sessions; keep secrets in a password manager.",
  });
}

/** The Luhn check of card numbers. */
function isCardNumber(digits: string): boolean {
  const sum = digits
    .split("")
    .toReversed()
    .reduce((total, digit, place) => {
      const doubled = Number(digit) * (place % 2 === 0 ? 1 : 2);
      return total + (doubled > 9 ? doubled - 9 : doubled);
    }, 0);
  return sum % 10 === 0 && !/^0+$/u.test(digits);
}
