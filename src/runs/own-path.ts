const someBase = "http://millrace.invalid";

/**
 * Whether a webhook is a path of this server. It is judged as it will be read: to an address a backslash is a slash,
 * and tabs and line breaks are nothing, so that a path may lead to any other host.
 */
export function isOwnPath(url: string): boolean {
  return url.startsWith("/") && URL.canParse(url, someBase) && new URL(url, someBase).origin === someBase;
}
