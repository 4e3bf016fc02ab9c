"""The out-of-sample report: `content` computes and draws (cached), `page` assembles one HTML file and its JSON."""
