import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startLanguage } from "../text/language.ts";
import { Console, loadPageOf } from "./console.tsx";
import { preferences } from "./preferences.ts";
import "../style/tokens.css";
import "../style/shell.css";
import "../style/parts.css";
import "../style/chat.css";
import "../style/markdown.css";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no root element.");
loadPageOf(location.pathname);
await startLanguage(preferences().language ?? (navigator.language.startsWith("zh") ? "zh" : "en"));
createRoot(root).render(
  <StrictMode>
    <Console />
  </StrictMode>,
);
