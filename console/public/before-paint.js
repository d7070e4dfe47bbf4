// Sets theme and language before the first paint, and asks who is signed in while the page's own scripts are loaded.
(() => {
  let language = "en";
  let key;
  try {
    const stored = JSON.parse(localStorage.getItem("millrace.preferences") ?? "{}");
    if (stored.theme === "light" || stored.theme === "dark") document.documentElement.dataset.theme = stored.theme;
    language = stored.language ?? (navigator.language.startsWith("zh") ? "zh" : "en");
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    key = sessionStorage.getItem("millrace.key") ?? localStorage.getItem("millrace.key");
  } catch {
    // Without storage the system's theme and the browser's language count.
  }
  const headers = { "Accept-Language": language };
  if (language === "zh") headers.Accept = "*/*, application/json";
  if (key) headers[key.startsWith("Bearer ") ? "Authorization" : "x-api-key"] = key;
  const answer = fetch("/me", { headers, credentials: "omit" });
  // A failure is told by the request that takes the answer.
  answer.catch(() => undefined);
  window.millraceEarly = { path: "/me", answer };
})();
