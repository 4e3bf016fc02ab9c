"""Market features and targets as causal array functions of finite memory."""
