import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { callerQuery, queryClient } from "../api/threads.ts";
import { startLanguage } from "../text/language.ts";
import { Console } from "./console.tsx";
import { preferences } from "./kept/preferences.ts";
import { loadPageOf } from "./pages.tsx";
import "../style/tokens.css";
import "../style/shell.css";
import "../style/parts.css";
import "../style/chat.css";
import "../style/markdown.css";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no root element.");
loadPageOf(location.pathname);
const language = preferences().language ?? (navigator.language.startsWith("zh") ? "zh" : "en");
// What is known at the first drawing is drawn first: the requests of the page come after it.
await Promise.all([startLanguage(language), queryClient.prefetchQuery(callerQuery)]);
createRoot(root).render(
  <StrictMode>
    <Console />
  </StrictMode>,
);
