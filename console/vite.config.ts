import { join } from "node:path";
import { icons as lucide } from "@iconify-json/lucide";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { smallFormulas, readOnlyDrawings } from "./library-sheets.ts";

/** Where a running server is that the development page talks to. */
const server = process.env["MILLRACE_URL"] ?? "http://127.0.0.1:2024";

/** Whether a path is the page's own; all others are the server's. */
const ownPaths = /^\/(console|@|node_modules|src)/u;

/** The forms would bring a reader of Markdown and HTML with them, for texts that are shown as they are written here. */
const plainDescriptions: Plugin = {
  name: "plain-descriptions",
  enforce: "pre",
  resolveId: (id) => (id === "markdown-to-jsx/react" ? "\0plain-descriptions" : undefined),
  load: (id) => (id === "\0plain-descriptions" ? "export const Markdown = ({ children }) => children;" : undefined),
};

/** Parts of the forms that only a `ui:field` or a `ui:widget` asks for, of which there are none here. */
const unusedInForms =
  /\/@rjsf\/core\/lib\/components\/(?:fields\/Layout\w+|widgets\/(?:Rating|AltDate\w*)Widget)\.js$/u;
/** What moves colours from one to another: drawings of graphs are zoomed, their colours are those of the sheets. */
const unusedColours = /\/d3-color\/dist\/d3-color\.mjs$/u;

/** Leaves out of libraries what the page never reaches, and what their own builds keep together with the rest. */
const unusedParts: Plugin = {
  name: "unused-parts",
  enforce: "pre",
  load(id) {
    if (unusedInForms.test(id)) return "export default () => null;";
    if (!unusedColours.test(id)) return undefined;
    return "export const color = () => null; export { color as rgb, color as hsl, color as lab, color as hcl, color as cubehelix };";
  },
};

/**
 * `import Check from "icon:check"` is the icon of that name of Lucide. Its data is one file; the package of components is
 * five thousand, which everybody would install.
 */
const icons: Plugin = {
  name: "icons",
  resolveId: (id) => (id.startsWith("icon:") ? `\0${id}` : undefined),
  load(id) {
    if (!id.startsWith("\0icon:")) return undefined;
    const name = id.slice("\0icon:".length);
    const found = lucide.icons[lucide.aliases?.[name]?.parent ?? name];
    if (found === undefined) return this.error(`Lucide has no icon "${name}"; the names are on lucide.dev/icons.`);
    const shapes = [...found.body.matchAll(/<(?!g[ >])(\w+) ([^>]*?)\/>/gu)].map(([, element, attributes = ""]) => [
      element,
      // How lines are drawn is said once, by the component.
      Object.fromEntries(
        [...attributes.matchAll(/([\w-]+)="([^"]*)"/gu)]
          .map(([, key = "", value = ""]) => [key, value])
          .filter(([key = "", value]) => !key.startsWith("stroke") && value !== "none"),
      ),
    ]);
    const component = JSON.stringify(join(import.meta.dirname, "parts/icon.tsx"));
    return `import { icon } from ${component}; export default icon(${JSON.stringify(shapes)});`;
  },
};

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  plugins: [icons, plainDescriptions, unusedParts, smallFormulas, readOnlyDrawings, react()],
  define: { __DEVELOPMENT__: "false" },
  build: {
    target: "es2023",
    // The first that know light-dark(), which each colour is written with.
    cssTarget: ["chrome123", "firefox120", "safari17.5", "ios17.5"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: true,
    rolldownOptions: {
      output: {
        // A browser asks for few files at a time: what the first view needs is one.
        codeSplitting: {
          groups: [
            { name: "first", tags: ["$initial"] },
            { name: "icons", test: /^\0icon:/u },
            // Small parts of many pages: each in a file of its own costs more than it holds.
            { name: "parts", test: /console\/(?:parts\/(?:disclosure|confirm|diff)|text\/json-text)\.tsx?$/u },
            {
              name: "words",
              test: /console\/(?:text\/manage\/words|pages\/(?:facts|read-only|list-and-one|changed-elsewhere|draft-editor|thread-choice|forms\/(?:delete-button|draft-buttons|create-dialog)))\.tsx?$/u,
            },
          ],
        },
      },
    },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
  },
  server: {
    host: "127.0.0.1",
    proxy: {
      "^/": {
        target: server,
        changeOrigin: true,
        ws: true,
        // The page's own paths are answered by Vite.
        bypass: (request) => (ownPaths.test(request.url ?? "") ? request.url : undefined),
        headers: { origin: server },
      },
    },
  },
});
