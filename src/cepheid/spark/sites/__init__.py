"""Sites of a network (`cepheid.network`) as streaming jobs of Spark: messages in, engines that join, messages out."""
