import { AppError } from "@millrace/engine/errors/errors";
import type { WebRules } from "@millrace/engine/net/checked-agent";
import { type WebAnswer, webGet } from "@millrace/engine/net/web-get";
import { pageText, type PageText } from "./page-text.ts";
import { createRobotsFiles, type RobotsFiles } from "./robots-files.ts";

/** Maximum redirects, bytes and milliseconds per page, and characters of its text. */
const [redirects, limit, patience, maxText] = [5, 5 * 1024 * 1024, 10_000, 100_000];

/** A web page as text. `url` is the final one; `isCut`: the text was truncated. */
export interface WebPage extends PageText {
  url: string;
  isCut: boolean;
}

/** Opens web pages. */
export interface WebPages {
  /**
   * The text of a page. Throws `AppError`s (`not_found`, `permission`, `rate_limit`, `server`, `empty_result`,
   * `invalid_format` for anything but text, and those of `webGet`), and the signal's reason.
   */
  read(address: string, signal: AbortSignal): Promise<WebPage>;
  /** The hosts' rules for crawlers (RFC 9309). */
  robots: RobotsFiles;
}

/** Creates the page reader with these rules. */
export function createWebPages(rules: WebRules, within: number = patience): WebPages {
  const headers = { accept: "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.8,*/*;q=0.1" };
  return {
    robots: createRobotsFiles(rules, within),
    async read(address, signal) {
      const answer = await webGet({ address, headers, redirects, limit, within }, rules, signal);
      const host = answer.url.hostname;
      if (answer.status < 200 || answer.status > 299) throw notGiven(answer.status, host);
      const { title, text, links } = await textOf(answer, signal);
      if (text === "") {
        throw new AppError("empty_result", `The page of ${host} holds no text.`, {
          suggestion: "It may show its text by a program of its own. Look for the same elsewhere.",
        });
      }
      const url = answer.url.href;
      return { url, title, text: text.slice(0, maxText).toWellFormed(), links, isCut: text.length > maxText };
    },
  };
}

async function textOf(answer: WebAnswer, signal: AbortSignal): Promise<PageText> {
  const { contentType, body, url } = answer;
  const type = (contentType.split(";")[0] ?? "").trim().toLowerCase();
  const isHtml = type === "text/html" || type === "application/xhtml+xml";
  const isText = type.startsWith("text/") || /^application\/(?:.+\+)?(?:json|xml|yaml|javascript)$/u.test(type);
  if (!isHtml && !isText && type !== "") {
    throw new AppError("invalid_format", `A page of text is expected, ${url.hostname} sent ${type.slice(0, 80)}.`, {
      suggestion: "Open a page of text instead.",
    });
  }
  const text = decodePage(body, contentType);
  if (text.includes("\0")) {
    throw new AppError("invalid_format", `A page of text is expected, ${url.hostname} sent something else.`);
  }
  if (isHtml || (type === "" && /^\s*</u.test(text))) return await pageText(text, url.href, signal);
  return { title: "", text: text.trim(), links: [] };
}

function notGiven(status: number, host: string): AppError {
  const declared = `${host} does not give the page (${status}).`;
  if (status === 404 || status === 410) {
    return new AppError("not_found", declared, { suggestion: "Check the address, or search for the page." });
  }
  if (status === 401 || status === 402 || status === 403 || status === 451) {
    return new AppError("permission", declared, { suggestion: "Look for the same elsewhere." });
  }
  if (status === 429) return new AppError("rate_limit", declared, { suggestion: "Try again in a while." });
  if (status >= 500)
    return new AppError("server", declared, { suggestion: "Try again in a while, or look elsewhere." });
  return new AppError("api_error", declared, { suggestion: "Look for the same elsewhere." });
}

/** Bytes at a page's start that may declare its encoding. */
const headLength = 2048;

/**
 * A page's text, decoded by its byte order mark, else the server's charset, else the page's own, else UTF-8. Invalid
 * bytes are replaced.
 */
export function decodePage(body: Buffer, contentType: string): string {
  const declared = /charset\s*=\s*["']?([\w.:-]+)/iu.exec(contentType)?.[1];
  return decode(body, markOf(body) ?? declared ?? metaCharset(body));
}

function markOf(body: Buffer): string | undefined {
  if (body[0] === 0xff && body[1] === 0xfe) return "utf-16le";
  if (body[0] === 0xfe && body[1] === 0xff) return "utf-16be";
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? "utf-8" : undefined;
}

/** A charset named in ASCII cannot be UTF-16. */
function metaCharset(body: Buffer): string | undefined {
  const head = body.subarray(0, headLength).toString("latin1");
  const declared = /<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)/iu.exec(head)?.[1];
  return declared !== undefined && /^utf-?16/iu.test(declared) ? "utf-8" : declared;
}

function decode(body: Buffer, label: string | undefined): string {
  try {
    return new TextDecoder(label).decode(body);
  } catch {
    // Unknown charset: fall back to UTF-8.
    return new TextDecoder().decode(body);
  }
}
