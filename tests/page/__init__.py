"""The page in a browser: Debian's Chromium, driven by Playwright, against the invented cluster."""
