import type { Language } from "../../language.ts";
import type { HttpContext } from "../environment.ts";

/** The language a reader prefers by `Accept-Language`: Chinese where it comes before English, else English. */
export function languageOf(context: HttpContext): Language {
  const wanted = (context.req.header("accept-language") ?? "")
    .slice(0, 1000)
    .split(",")
    .map((part) => {
      const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
      const quality = parameters.map((one) => /^\s*q=([\d.]+)\s*$/u.exec(one)?.[1]).find((text) => text !== undefined);
      return { tag: tag.trim(), quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ tag, quality }) => quality > 0 && /^(en|zh)\b/u.test(tag))
    .toSorted((one, other) => other.quality - one.quality);
  return wanted[0]?.tag.startsWith("zh") === true ? "zh" : "en";
}
