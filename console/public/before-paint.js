// Sets theme and language before the first paint; the page's own scripts come after it.
(() => {
  try {
    const stored = JSON.parse(localStorage.getItem("millrace.preferences") ?? "{}");
    if (stored.theme === "light" || stored.theme === "dark") document.documentElement.dataset.theme = stored.theme;
    const language = stored.language ?? (navigator.language.startsWith("zh") ? "zh" : "en");
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  } catch {
    // Without storage the system's theme and the browser's language count.
  }
})();
