import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { Hono } from "hono";
import { systemCode } from "@millrace/engine/errors/errors";
import { languageOf } from "@millrace/engine/http/responses/wire";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import type { ConsoleBuild } from "./console-build.ts";

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

/** Content security policy of the console: its own files, and requests to this server. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const guards: Record<string, string> = {
  "Content-Security-Policy": policy,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** Seconds after which the page reloads while it is being built. */
const retrySeconds = 1;

/** `/console/*`, the server's web page. Its files are the same for everyone. */
export function consoleRoutes(build: ConsoleBuild): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get("/console", (context) => context.redirect("/console/"));
  routes.get("/console/*", async (context) => {
    const state = await build.state();
    const path = context.req.path.slice("/console/".length);
    switch (state.status) {
      case "building":
        context.header("Retry-After", String(retrySeconds));
        // The browser reloads by itself; this needs no script.
        context.header("Refresh", String(retrySeconds));
        return page(context, `<i></i><h1>Millrace</h1><p role="status">${waiting[languageOf(context)]}</p>`);
      case "failed":
        return page(
          context,
          `<h1>The console could not be built</h1><pre>${escaped(state.reason)}</pre>
          <p>${escaped(state.suggestion)} The API is not affected.</p>`,
        );
      case "ready":
        return answerFile(context, state.folder, path);
    }
  });
  return routes;
}

const waiting = {
  en: "The first start takes a few seconds. This page goes on by itself.",
  zh: "首次启动需要几秒钟，完成后会自动进入。",
};

/** The console's own style is not there yet. */
const style = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{display:grid;place-content:center;justify-items:center;min-height:100vh;margin:0;padding:0 1rem;box-sizing:border-box}
h1{font-size:1.25rem;margin:.75rem 0 0}p{margin:.25rem 0;text-align:center}pre{max-width:90vw;overflow:auto}
i{width:28px;height:28px;border:3px solid #8886;border-top-color:#2563eb;border-radius:50%;animation:turn 1s linear infinite}
@keyframes turn{to{rotate:1turn}}@media(prefers-reduced-motion){i{animation:none}}`;
const ownStyle = `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`;
const ownGuards = { ...guards, "Content-Security-Policy": policy.replace("style-src 'self'", ownStyle) };

/** A page in place of the console. `body` is HTML. */
function page(context: HttpContext, body: string): Response {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Millrace</title>`;
  const html = `<!doctype html><html lang="${languageOf(context)}">${head}<style>${style}</style>${body}</html>`;
  return context.body(html, 503, { ...ownGuards, "Content-Type": types[".html"] ?? "", "Cache-Control": "no-store" });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/**
 * A file of the build. Names below `assets/` contain a hash, so they never change; any other unknown path is the page
 * itself.
 */
async function answerFile(context: HttpContext, folder: string, path: string): Promise<Response> {
  const isAsset = path.startsWith("assets/");
  const name = /^[\w./-]+$/u.test(path) && !path.includes("..") && extname(path) !== "" ? path : "index.html";
  const accepted = context.req.header("accept-encoding") ?? "";
  const encoding = /\bbr\b/u.test(accepted) ? "br" : undefined;
  const found =
    (encoding === undefined ? undefined : await readIfThere(join(folder, `${name}.br`))) ??
    (await readIfThere(join(folder, name)));
  if (found === undefined) {
    if (isAsset || name !== "index.html") return context.text("404 Not Found", 404, guards);
    return context.text("The built console is gone; start the server again.", 503, guards);
  }
  const tag = `"${createHash("sha256").update(found.bytes).digest("base64url").slice(0, 22)}"`;
  const headers: Record<string, string> = {
    ...guards,
    "Content-Type": types[extname(name)] ?? "application/octet-stream",
    "Cache-Control": isAsset ? "public, max-age=31536000, immutable" : "no-cache",
    ETag: tag,
    Vary: "Accept-Encoding",
    ...(found.file.endsWith(".br") && { "Content-Encoding": "br" }),
  };
  if (context.req.header("if-none-match") === tag) return context.body(null, 304, headers);
  return context.body(found.bytes, 200, headers);
}

async function readIfThere(file: string): Promise<{ file: string; bytes: Uint8Array<ArrayBuffer> } | undefined> {
  try {
    return { file, bytes: new Uint8Array(await readFile(file)) };
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "EISDIR") return undefined;
    throw error;
  }
}
